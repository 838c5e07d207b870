package ui

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
)

// view is what a template shows.
type view struct {
	Query  query
	Prefix string
	Now    time.Time

	Link    linkState
	Servers []serverState
	Leader  string
	Trip    time.Duration // to the server that the session is connected to

	Began   bool
	Failure string
	Hidden  []string // the first paths that may not be read
	Hiding  int      // how many they are

	List *listView
	Lock *lockView
}

// listView is the table of the locks.
type listView struct {
	Headings []heading
	Choices  []option
	Rows     []row
	Window   pages
	Locks    int // all, and what is said of them
	Waiters  int
	Asked    int
}

type heading struct {
	Key, Name, Address string
	Sort               string // aria-sort
}

type option struct {
	Key, Name string
	Chosen    bool
}

// lockView is one lock.
type lockView struct {
	Is      row
	InUse   bool
	Queue   []contender
	Chosen  *contender // of which all is shown
	Window  pages
	Strip   strip
	Past    []tenure // the last ones, the newest first
	Earlier int      // how many more there are
}

// contender is one who has the lock, or waits for it.
type contender struct {
	N int
	shown.Contender
	Name    string // of the node, without the lock's path
	Behind  string // what it waits for
	Since   time.Time
	Early   bool
	Strange string
	Hidden  bool   // it may not be read
	Address string // of the page that shows all of it
	Chosen  bool

	Commands []verb // of the one that is chosen
}

// verb is what may be done to a node.
type verb struct {
	Name, Command string
	Confirm       string // an address; "" if the page may not do it
}

// mostShown bounds what a page lists beside its table.
const mostShown = 20

func (p *page) view(q query) view {
	v := view{Query: q, Prefix: p.Prefix, Now: time.Now(), Link: p.Link.is(), Servers: p.ensemble.state()}
	for _, s := range v.Servers {
		if s.Role == "leader" || s.Role == "standalone" {
			v.Leader = s.Server
		}
		if s.Ours {
			v.Trip = s.RoundTrip
		}
	}
	h := p.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	v.Began, v.Hiding = h.began, len(h.hidden)
	v.Hidden = slices.Clone(h.hidden[:min(len(h.hidden), mostShown)])
	if h.failure != nil {
		v.Failure = h.failure.Error()
	}
	switch q.View {
	case "list":
		v.List = h.list(q)
	case "lock":
		v.Lock = p.lock(q, v.Now)
	}
	return v
}

// list is the table. h.mu is held.
func (h *hub) list(q query) *listView {
	l := new(listView)
	var rows []*row
	for _, lock := range h.locks {
		if len(lock.found) == 0 {
			continue
		}
		rows = append(rows, &lock.row)
		l.Locks++
		l.Waiters += lock.row.Waiting
		if lock.row.Asked {
			l.Asked++
		}
	}
	rows = q.choose(rows)
	l.Window = q.window(len(rows))
	for _, r := range rows[l.Window.From-1 : l.Window.To] {
		l.Rows = append(l.Rows, *r)
	}
	for _, c := range columns {
		t := heading{Key: c.Key, Name: c.Name, Address: q.by(c.Key).address(), Sort: "none"}
		switch {
		case q.Sort == c.Key && q.Desc:
			t.Sort = "descending"
		case q.Sort == c.Key:
			t.Sort = "ascending"
		}
		l.Headings = append(l.Headings, t)
	}
	for _, c := range choices {
		l.Choices = append(l.Choices, option{c.Key, c.Name, c.Key == q.Only})
	}
	return l
}

// lock is one lock. The hub's mutex is held.
func (p *page) lock(q query, now time.Time) *lockView {
	l := p.hub.locks[q.Path]
	if l == nil {
		l = &lock{path: q.Path}
		l.row = l.asRow()
	}
	v := &lockView{Is: l.row, InUse: len(l.found) > 0, Window: q.window(len(l.found))}
	chosen := max(slices.IndexFunc(l.found, func(c zklock.Contender) bool { return path.Base(c.Node) == q.Node }), 0)
	for i := v.Window.From - 1; i < v.Window.To; i++ {
		c := l.contender(i)
		c.Address, c.Chosen = q.of(c.Name).address(), i == chosen
		v.Queue = append(v.Queue, c)
	}
	if v.InUse {
		c := l.contender(chosen)
		c.Commands = p.verbs(c, l.path)
		v.Chosen = &c
	}
	v.Strip = stripOf(l.past, p.hub.looks, now)
	v.Past = slices.Clone(l.past[max(len(l.past)-mostShown, 0):])
	slices.Reverse(v.Past)
	v.Earlier = len(l.past) - len(v.Past)
	return v
}

// contender is the one at that place of a lock.
func (l *lock) contender(at int) contender {
	is := l.found[at]
	c := contender{
		N: at + 1, Contender: shown.Of(is), Name: path.Base(is.Node), Strange: strange(is),
		Hidden: is.Data == nil && !is.Revoked && is.Token == 0,
	}
	switch ahead := shown.Blocker(l.found, at); {
	case is.Held:
		for _, t := range l.past {
			if t.Node == is.Node && t.To.IsZero() {
				c.Since, c.Early = t.From, t.Early
			}
		}
	case ahead >= 0:
		c.Behind = "#" + strconv.Itoa(ahead+1)
	case l.row.Kind == zklock.Permit.String():
		c.Behind = "a permit"
	}
	return c
}

// verbs are what may be done to a node.
func (p *page) verbs(c contender, lock string) (all []verb) {
	for _, name := range []string{Revoke, Break} {
		if name == Revoke && c.Strange != "" {
			continue // nobody would heed it
		}
		do := verb{Name: name, Command: p.command(name, lock, c.Name)}
		if slices.Contains(p.Allow, name) {
			do.Confirm = "/confirm?" + url.Values{"verb": {name}, "path": {lock}, "node": {c.Node}}.Encode()
		}
		all = append(all, do)
	}
	return all
}

// strange says of a node what it is, if that is not as usual.
func strange(c zklock.Contender) string {
	switch {
	case c.Persistent:
		return "persistent: it goes with no session"
	case c.Foreign:
		return "another library's, perhaps: waited for while its session lives"
	}
	return ""
}
