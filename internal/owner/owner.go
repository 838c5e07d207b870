// Package owner is what a node says of the process that it belongs to.
package owner

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Owner is what a node says, as host=... pid=... and so on, unless the user has it say something else.
type Owner struct {
	Host  string `json:"host,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"`

	// From the command alone: the program that it runs, and what becomes of a request for the lock: "term"
	// or "ignore".
	Command  string `json:"command,omitempty"`
	OnRevoke string `json:"on_revoke,omitempty"`

	// From those who write once more when they have the lock: what a candidate has become, in an
	// election, since when it is so, and what a leader says of itself.
	Election  string    `json:"election,omitempty"`
	HeldSince time.Time `json:"held_since,omitzero"`
	Value     []byte    `json:"-"`
}

// What Election may be.
const (
	Candidate = "candidate"
	Leads     = "leader"
)

var us = Owner{PID: os.Getpid(), Start: time.Now().Format(time.RFC3339)}

// Speak has nodes say of this process from now on what o says, with its host and start. The command
// does it before it connects, whose user has started another process than the one that has the lock.
func Speak(o Owner) {
	o.Start = us.Start
	us = o
}

// Ourselves is what nodes say of this process.
func Ourselves() Owner {
	o := us
	o.Host = "unknown"
	if host, err := os.Hostname(); err == nil {
		o.Host = host
	}
	return o
}

const inMilliseconds = "2006-01-02T15:04:05.000Z07:00"

// String is what the node says.
func (o Owner) String() string {
	said := "host=" + o.Host + " pid=" + strconv.Itoa(o.PID) + " start=" + o.Start
	add := func(key, value string) {
		if value != "" {
			said += " " + key + "=" + value
		}
	}
	add("command", url.PathEscape(o.Command))
	add("on_revoke", o.OnRevoke)
	add("election", o.Election)
	if !o.HeldSince.IsZero() {
		add("held", o.HeldSince.Format(inMilliseconds))
	}
	add("value", url.PathEscape(string(o.Value)))
	return said
}

// Read is what data says of an owner. Anybody may have written it.
func Read(data string) (o Owner) {
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
		case "election":
			o.Election = value
		case "held":
			_ = o.HeldSince.UnmarshalText([]byte(value)) // stricter than time.Parse: JSON can say it
		case "value":
			if value, err := url.PathUnescape(value); err == nil {
				o.Value = []byte(value)
			}
		}
	}
	return o
}
