package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/zklock/zklock"
)

// view is who held a lock and who waited for it at a moment.
type view struct {
	path  string
	at    time.Time
	found []zklock.Contender
}

// look inspects the lock. It gives up when a session that is lost would end.
func look(ctx context.Context, session *zklock.Session, path string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	found, err := zklock.Inspect(ctx, session, path)
	return view{path, time.Now(), found}, classify(err)
}

// writeJSON writes the view as one line.
func (v view) writeJSON(to io.Writer) error {
	shown := make([]contender, len(v.found))
	for i, c := range v.found {
		shown[i] = describe(c)
	}
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Path       string      `json:"path"`
		Contenders []contender `json:"contenders"`
	}{v.path, shown})
}

// writeTable writes the view for people, holders first.
func (v view) writeTable(to io.Writer) error {
	if len(v.found) == 0 {
		_, err := fmt.Fprintf(to, "%s is free.\n", v.path)
		return err
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATE\tKIND\tWHO\tSINCE\tTOKEN\tSESSION\tNODE")
	for _, found := range v.found {
		c, state := describe(found), "waits"
		if c.Held {
			state = "holds"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			state, c.Kind, c.who(), v.age(c.Created), c.Token, c.Session, strings.TrimPrefix(v.printableNode(c.Node), v.path+"/"))
	}
	t.Flush()
	_, err := io.WriteString(to, b.String())
	return err
}

// age is how long ago the node was created, by the server's clock then and ours
// now.
func (v view) age(created time.Time) string {
	return max(v.at.Sub(created), 0).Round(time.Second).String()
}

// contender is what is shown of one.
type contender struct {
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Held    bool      `json:"held"`
	Session string    `json:"session"`
	Token   int64     `json:"token"`
	Created time.Time `json:"created"`
	Data    string    `json:"data"`

	// DataBase64 is the data if it is not UTF-8, which JSON cannot say.
	DataBase64 []byte `json:"data_base64,omitempty"`

	// From the data, where zklock wrote it.
	Host  string `json:"host,omitempty"`
	PID   string `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`

	// Revoked says that somebody has asked for the lock back, which overwrites
	// what the data said.
	Revoked bool `json:"revoked,omitempty"`
}

// revokeMark is what Revoke writes.
var revokeMark = []byte("__REVOKE__")

func describe(c zklock.Contender) contender {
	shown := contender{
		Node: c.Node, Kind: c.Kind.String(), Held: c.Held,
		Session: sessionName(c.Session), Token: c.Token, Created: c.Created,
		Data: string(c.Data), Revoked: bytes.Equal(c.Data, revokeMark),
	}
	if !utf8.Valid(c.Data) {
		shown.DataBase64 = c.Data
	}
	shown.Host, shown.PID, shown.Start = owner(shown.Data)
	return shown
}

// owner reads what zklock writes on a lock node unless it is told otherwise:
// host=... pid=... start=...
func owner(data string) (host, pid, start string) {
	for field := range strings.FieldsSeq(data) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "host":
			host = value
		case "pid":
			pid = value
		case "start":
			start = value
		}
	}
	return host, pid, start
}

// who is the contender's host and process, or else what its node says, printable.
func (c contender) who() string {
	switch {
	case c.Revoked:
		return "(asked to give it back)"
	case c.Host != "" && c.PID != "":
		return printable(c.Host+" pid "+c.PID, longestOwner)
	case c.Data == "":
		return "-" // it says nothing, or may not be read
	}
	return printable(c.Data, longestOwner)
}

// printableNode cuts the name alone of a node below the lock's path.
func (v view) printableNode(node string) string {
	if name, ok := strings.CutPrefix(node, v.path+"/"); ok {
		return v.path + "/" + printable(name, longestName)
	}
	return printable(node, longestName)
}

// named reports whether name, a full path or the last part of one, is the node's.
func named(c zklock.Contender, name string) bool {
	return c.Node == name || path.Base(c.Node) == name
}
