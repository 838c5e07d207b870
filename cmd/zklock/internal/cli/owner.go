package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/plain"
	"github.com/zklock/zklock/internal/recipe"
)

// owner is what zklock writes on a lock's node of who has it, unless --data replaces it, as
// host=... pid=... and so on. The library writes the first three.
type owner struct {
	Host  string `json:"host,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`

	// From zklock run alone: the program that it runs, what its --on-revoke says, and, on a second
	// write, since when it has the lock.
	Command   string    `json:"command,omitempty"`
	OnRevoke  string    `json:"on_revoke,omitempty"`
	HeldSince time.Time `json:"held_since,omitzero"`
}

// ourselves is what zklock run says of itself: the process that the user has started instead of
// this one, which does not heed signals. The arguments of the command are told to nobody.
func ourselves(command, onRevoke string) owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return owner{Host: host, PID: os.Getppid(), Start: time.Now().Format(time.RFC3339), Command: command, OnRevoke: onRevoke}
}

const inMilliseconds = "2006-01-02T15:04:05.000Z07:00"

func (o owner) String() string {
	said := fmt.Sprintf("host=%s pid=%d start=%s command=%s on_revoke=%s", o.Host, o.PID, o.Start, url.PathEscape(o.Command), o.OnRevoke)
	if !o.HeldSince.IsZero() {
		said += " held=" + o.HeldSince.Format(inMilliseconds)
	}
	return said
}

// readOwner is what data says of an owner. Anybody may have written it.
func readOwner(data string) (o owner) {
	for field := range strings.FieldsSeq(data) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "host":
			o.Host = value
		case "pid":
			o.PID, _ = strconv.Atoi(value)
		case "start":
			o.Start = value
		case "command":
			o.Command, _ = url.PathUnescape(value)
		case "on_revoke":
			o.OnRevoke = value
		case "held":
			_ = o.HeldSince.UnmarshalText([]byte(value)) // stricter than time.Parse: JSON can say it
		}
	}
	return o
}

// program is the command as it is shown.
func (o owner) program() string {
	if o.Command == "" {
		return "-"
	}
	return plain.Name(o.Command, longestOwner)
}

// heeds says what becomes of a request to give the lock back; of a program that uses the library
// nobody knows.
func (o owner) heeds() string {
	switch o.OnRevoke {
	case "term":
		return "heeds"
	case "ignore":
		return "ignores"
	}
	return "-"
}

// tellSince adds to what the lock's node says of us since when we hold the lock: ZooKeeper tells of a
// node since when it is there, and of the one ahead of it not when it went. It is one write, which
// nothing waits for.
func (r *run) tellSince(session *zklock.Session, hold *zklock.Hold, granted time.Time) {
	if r.data != "" {
		return // it is the user's
	}
	said := r.owner
	said.HeldSince = granted
	_, err := request(hold.Context(), session, func(conn *zk.Conn) (*zk.Stat, error) {
		data, stat, err := conn.Get(hold.Node())
		if err != nil {
			return nil, err
		}
		now := []byte(said.String())
		if _, asked := recipe.Revocation(data); asked {
			now = recipe.Revoked(now)
		}
		return conn.Set(hold.Node(), now, stat.Version)
	})
	if err != nil && hold.Err() == nil {
		r.log.Debug("the lock's node does not say since when we have it", "error", err)
	}
}

// namingTime is how long it may take to find out who has a lock that was not to be had.
const namingTime = time.Second

// namingHolder returns err, that somebody else has the lock, with who that is, if that can be found
// out.
func namingHolder(ctx context.Context, session *zklock.Session, path string, err error) error {
	ctx, cancel := context.WithTimeout(ctx, namingTime)
	defer cancel()
	v, failed := look(ctx, session, path)
	holders, _ := v.held()
	if failed != nil || len(holders) == 0 {
		return err
	}
	c := describe(holders[0])
	said := c.who() + " has it"
	if since := cmp.Or(c.HeldSince, c.Created); !since.IsZero() {
		said += ", since " + since.Format(time.RFC3339)
	}
	if c.HeldSince.IsZero() {
		said += " or later"
	}
	if more := len(holders) - 1; more > 0 {
		said += fmt.Sprintf(", and %d more", more)
	}
	return fmt.Errorf("%w: %s", err, said)
}
