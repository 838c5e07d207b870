package cli

import (
	"bytes"
	"path"
	"strings"
	"time"

	"github.com/zklock/zklock"
)

// contender is what is shown of one.
type contender struct {
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Held    bool      `json:"held"`
	Session string    `json:"session"`
	Token   int64     `json:"token"`
	Created time.Time `json:"created"`
	Data    string    `json:"data"`

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

func describe(found []zklock.Contender) []contender {
	shown := make([]contender, len(found))
	for i, c := range found {
		s := contender{
			Node: c.Node, Kind: c.Kind.String(), Held: c.Held,
			Session: sessionName(c.Session), Token: c.Token, Created: c.Created,
			Data: string(c.Data), Revoked: bytes.Equal(c.Data, revokeMark),
		}
		s.Host, s.PID, s.Start = owner(s.Data)
		shown[i] = s
	}
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

// who is the contender's host and process, or else what its node says.
func (c contender) who() string {
	switch {
	case c.Revoked:
		return "(asked to give it back)"
	case c.Host != "" && c.PID != "":
		return c.Host + " pid " + c.PID
	}
	return printable(c.Data)
}

// printable keeps foreign data from moving the cursor.
func printable(text string) string {
	const longest = 60
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffd' {
			return '?'
		}
		return r
	}, text)
	if runes := []rune(clean); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return clean
}

// named tells whether name, a full path or the last part of one, is the node's.
func named(c zklock.Contender, name string) bool {
	return c.Node == name || path.Base(c.Node) == name
}
