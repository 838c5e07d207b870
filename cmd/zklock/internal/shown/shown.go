// Package shown is how the nodes of locks are shown to people and programs.
package shown

import (
	"fmt"
	"path"
	"time"
	"unicode/utf8"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/owner"
	"github.com/zklock/zklock/internal/plain"
)

// How much is shown of what others have written, in characters.
const (
	LongestOwner = 60
	LongestName  = 120
)

// Contender is what is shown of one.
type Contender struct {
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Held    bool      `json:"held"`
	Session string    `json:"session"`
	Token   int64     `json:"token"`
	Created time.Time `json:"created"`
	Data    string    `json:"data"`

	// DataBase64 is the data if it is not UTF-8, which JSON cannot say.
	DataBase64 []byte `json:"data_base64,omitempty"`

	owner.Owner // from the data, where zklock wrote it

	// Revoked says that somebody has asked for the lock back.
	Revoked bool `json:"revoked,omitempty"`

	// Foreign says that the node may be another library's, Persistent that it goes with no session.
	Foreign    bool `json:"foreign,omitempty"`
	Persistent bool `json:"persistent,omitempty"`
}

// Of returns what is shown of c.
func Of(c zklock.Contender) Contender {
	shown := Contender{
		Node: c.Node, Kind: c.Kind.String(), Held: c.Held,
		Session: client.Hex(c.Session), Token: c.Token, Created: c.Created,
		Data: string(c.Data), Revoked: c.Revoked, Owner: owner.Read(string(c.Data)),
		Foreign: c.Foreign, Persistent: c.Persistent,
	}
	if !utf8.Valid(c.Data) {
		shown.DataBase64 = c.Data
	}
	return shown
}

// Who is the contender's host and process, or else what its node says, printable.
func (c Contender) Who() string {
	who := "-" // it says nothing, or may not be read
	switch {
	case c.Host != "" && c.PID != 0:
		who = plain.Name(fmt.Sprintf("%s pid %d", c.Host, c.PID), LongestOwner)
	case c.Data != "":
		who = plain.Name(c.Data, LongestOwner)
	case c.Revoked:
		return askedBack
	}
	switch {
	case c.Persistent:
		who += " (persistent)"
	case c.Foreign:
		who += " (of another library)"
	case c.Revoked:
		who += " " + askedBack
	}
	return who
}

const askedBack = "(asked to give it back)"

// Program is the command as it is shown.
func (c Contender) Program() string {
	if c.Command == "" {
		return "-"
	}
	return plain.Name(c.Command, LongestOwner)
}

// Heeds says what becomes of a request to give the lock back; of a program that uses the library
// nobody knows.
func (c Contender) Heeds() string {
	switch c.OnRevoke {
	case "term":
		return "heeds"
	case "ignore":
		return "ignores"
	}
	return "-"
}

// Blocker returns the place of the nearest one of those found that the one at that place waits for, -1 if
// there is none.
func Blocker(found []zklock.Contender, at int) int {
	if found[at].Held {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		inLine := path.Dir(found[i].Node) == path.Dir(found[at].Node) // not one with a permit
		if inLine && (found[i].Kind != zklock.Read || found[at].Kind != zklock.Read) {
			return i
		}
	}
	return -1
}
