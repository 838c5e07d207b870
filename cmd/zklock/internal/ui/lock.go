package ui

import (
	"slices"
	"strings"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
)

// lock is what is known of one.
type lock struct {
	path, key string
	found     []zklock.Contender
	unseen    bool     // nobody has looked for a while, until the next update
	past      []tenure // of the last hour, in the order of their beginning
	row       row
}

// tenure is that somebody has the lock, or had.
type tenure struct {
	Node, Who string
	From, To  time.Time // To is zero while it goes on
	Early     bool      // From is when its node was made: it has had the lock since then at most
	Waited    time.Duration
	End       string
	before    zklock.Contender
}

// How a tenure may end. ZooKeeper tells nobody why a node has gone.
const (
	endGone    = "given back, or lost"
	endAsked   = "given back when asked, or lost"
	endSession = "session ended: all its nodes went at once"
	endBroken  = "broken from this page"
	endUnseen  = "ended unseen"
)

// mostTenures bounds what is kept of a lock that passes often.
const mostTenures = 500

// row is a lock as the table shows it.
type row struct {
	Path, Key string
	Kind, Who string
	Session   string
	Others    int // who hold it too
	Waiting   int
	Held      bool
	Since     time.Time // that it is held; zero if that is not known
	Early     bool
	Asked     bool
	Strange   string // what it is, if a node of it is of no form that is known, or persistent
	searched  string
}

// update takes what the lock is now, and why those have gone who had it.
func (l *lock) update(now zklock.KeyedLock, at time.Time, why func(zklock.Contender) string) {
	waited := make(map[string]bool) // who was seen to wait
	for _, c := range l.found {
		waited[c.Node] = !c.Held
	}
	l.key = now.Key
	l.found = now.Contenders
	for i := range l.past {
		t := &l.past[i]
		if !t.To.IsZero() {
			continue
		}
		place := slices.IndexFunc(l.found, func(c zklock.Contender) bool { return c.Held && c.Node == t.Node })
		switch {
		case place >= 0:
			t.before = l.found[place]
		case l.unseen || why == nil:
			t.To, t.End = at, endUnseen
		default:
			t.To, t.End = at, why(t.before)
		}
	}
	for _, c := range l.found {
		if c.Held && !slices.ContainsFunc(l.past, func(t tenure) bool { return t.Node == c.Node && t.To.IsZero() }) {
			l.past = append(l.past, begun(c, at, waited[c.Node] && !l.unseen))
		}
	}
	l.unseen = false
	l.row = l.asRow()
}

// begun is the tenure of somebody who has the lock now.
func begun(c zklock.Contender, at time.Time, seenWaiting bool) tenure {
	s := shown.Of(c)
	t := tenure{Node: c.Node, Who: s.Who(), From: at, before: c}
	switch {
	case !s.HeldSince.IsZero():
		t.From = s.HeldSince
	case !seenWaiting && !c.Created.IsZero():
		t.From, t.Early = c.Created, true
	}
	if !t.Early && !c.Created.IsZero() {
		t.Waited = max(t.From.Sub(c.Created), 0)
	}
	return t
}

func (l *lock) forget(now time.Time) {
	l.past = slices.DeleteFunc(l.past, func(t tenure) bool { return !t.To.IsZero() && now.Sub(t.To) > remembered })
	if more := len(l.past) - mostTenures; more > 0 {
		l.past = slices.Delete(l.past, 0, more)
	}
}

func (l *lock) asRow() row {
	r := row{Path: l.path, Key: l.key}
	for _, c := range l.found {
		if r.Kind == "" {
			r.Kind = c.Kind.String()
		}
		r.Asked = r.Asked || c.Revoked
		switch {
		case c.Persistent:
			r.Strange = "persistent node"
		case c.Foreign && r.Strange == "":
			r.Strange = "another library's node"
		}
		switch {
		case !c.Held:
			r.Waiting++
		case r.Held:
			r.Others++
		default:
			l.holder(&r, c)
		}
	}
	r.searched = strings.ToLower(strings.Join([]string{r.Path, r.Key, r.Kind, r.Who, r.Session, r.Strange}, "\n"))
	return r
}

// holder has the row tell of the first who has the lock.
func (l *lock) holder(r *row, c zklock.Contender) {
	r.Held = true
	r.Who = shown.Of(c).Who()
	if c.Session != 0 {
		r.Session = hex(c.Session)
	}
	for _, t := range l.past {
		if t.Node == c.Node && t.To.IsZero() {
			r.Since, r.Early = t.From, t.Early
		}
	}
}
