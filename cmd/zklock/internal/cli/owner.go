package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/owner"
	"github.com/zklock/zklock/internal/recipe"
)

// speakFor has the lock's node tell of the process that the user has started instead of this one, which
// does not heed signals, and of the command. Its arguments are told to nobody.
func speakFor(command, onRevoke string) {
	owner.Speak(owner.Owner{PID: os.Getppid(), Command: command, OnRevoke: onRevoke})
}

// tellSince adds to what the lock's node says of us since when we hold the lock: ZooKeeper tells of a
// node since when it is there, and of the one ahead of it not when it went. It is one write, which
// nothing waits for.
func (r *run) tellSince(session *zklock.Session, hold *zklock.Hold, granted time.Time) {
	if r.data != "" {
		return // it is the user's
	}
	said := owner.Ourselves()
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
	c := shown.Of(holders[0])
	said := c.Who() + " has it"
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
