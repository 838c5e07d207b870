package ui

import (
	"sync"
	"time"

	"github.com/zklock/zklock"
)

// Link is what is known of a session's connection.
type Link struct {
	mu    sync.Mutex // guards the fields below; nothing is locked under it
	state linkState
	told  func(stands bool)
}

type linkState struct {
	Server  string // that the session is connected to; "" if to none
	Last    string // that it was connected to before that
	Session string
	Since   time.Time // that this is so
	Why     string    // there is no connection
}

// Trace is what the session is to be connected with.
func (l *Link) Trace() *zklock.SessionTrace {
	return &zklock.SessionTrace{
		Connected: func(i zklock.SessionTraceInfo) {
			l.set(linkState{Server: i.Server, Last: i.Server, Session: hex(i.Session), Since: i.Time})
		},
		Disconnected: func(i zklock.SessionTraceInfo) {
			why := ""
			if i.Err != nil {
				why = i.Err.Error()
			}
			l.set(linkState{Last: i.Server, Session: hex(i.Session), Since: i.Time, Why: why})
		},
	}
}

func (l *Link) set(s linkState) {
	l.mu.Lock()
	l.state = s
	told := l.told
	l.mu.Unlock()
	if told != nil {
		told(s.Server != "")
	}
}

// tell has f called when the connection has come or gone.
func (l *Link) tell(f func(stands bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = f
}

func (l *Link) is() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}
