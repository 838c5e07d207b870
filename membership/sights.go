package membership

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
)

// sight is a reading together with the watch that says when it is out of date.
// Everybody who looks at the same view shares one: go-zookeeper cannot remove a
// watch, so that one of their own each would pile up.
type sight struct {
	ready chan struct{} // closed when the server has answered
	reading
	err error

	connection int64 // that it was read over, or an earlier one

	// Guarded by the sights' mu.
	confirmed time.Time // when the server last showed the same
	waiting   time.Time // since when it waits for its turn
}

// over reports whether the sight is of no more use.
func (g *sight) over() bool {
	switch {
	case !latch.IsClosed(g.ready):
		return false
	case g.err != nil:
		return true
	}
	select {
	case <-g.changed:
		return true
	default:
		return false
	}
}

// sights are those of one session. They outlive whoever looked.
type sights struct {
	checks singleflight.Group

	mu      sync.Mutex // guards the fields below, and what says so of a sight; nothing is locked under it
	of      map[view]*sight
	turns   map[string]turn // of the children of a path
	sweepAt int             // how many sights there may be before those that are over are dropped
}

// turn is when some of a list's children last had their turn.
type turn struct {
	at       time.Time
	interval time.Duration // of the Watch that gave it
}

func newSights() *sights { return &sights{of: make(map[view]*sight), turns: make(map[string]turn)} }

func sightsOf(s *zklock.Session) *sights { return client.Kept(client.Of(s), newSights) }

// look returns the view as it is, with a watch that stands: the watch's event comes
// ahead of the answer to any read that shows a change. With doubt, which is how often
// the caller doubts the server, or 0, it makes sure of a watch that is not new.
func look(ctx context.Context, s *zklock.Session, v view, doubt time.Duration) (*sight, error) {
	all := sightsOf(s)
	for doubted := (*sight)(nil); ; {
		if ctx.Err() != nil { // nothing is asked for any more
			return nil, client.Ended(ctx)
		}
		g, isNew := all.get(s, v, doubted)
		select {
		case <-g.ready:
		case <-ctx.Done():
			return nil, client.Ended(ctx)
		case <-s.Closed():
			return nil, zklock.ErrClosed
		}
		if g.err != nil || isNew || doubt == 0 {
			return g, g.err
		}
		stands, err := all.stands(ctx, s, v, g, doubt)
		if stands || err != nil {
			return g, err
		}
		doubted = g
	}
}

// get returns the sight of the view, unless that is the doubted one, and whether it was not there before.
func (all *sights) get(s *zklock.Session, v view, doubted *sight) (g *sight, isNew bool) {
	connection := client.Of(s).Watches().Connection
	all.mu.Lock()
	defer all.mu.Unlock()
	before := all.of[v]
	if before != nil && before != doubted && !before.over() {
		return before, false
	}
	all.sweep()
	now := time.Now()
	g = &sight{ready: make(chan struct{}), connection: connection, confirmed: now, waiting: now}
	all.of[v] = g
	// The call takes no context; whoever asks next joins it instead of adding one.
	go func() {
		g.reading, g.err = request(s, v.watch)
		if before != nil {
			all.leave(v.path, before, g)
		}
		close(g.ready)
		if g.err != nil && v.of == data {
			all.drop(v, g)
		}
	}()
	return g, true
}

// leave drops the sights of the children that a list has no more: another node may come under the
// name of one, of whose end ZooKeeper tells nobody that might not read it then. Behind a list that
// could not be had, that is for the next. before has been there, and is of no more use.
func (all *sights) leave(path string, before, list *sight) {
	if list.err != nil {
		list.names = before.names
		return
	}
	there := make(map[string]bool, len(list.names))
	for _, name := range list.names {
		there[name] = true
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, name := range before.names {
		if !there[name] {
			delete(all.of, view{recipe.Join(path, name), data})
		}
	}
}

// sweep drops the sights that are over, and the turns that keep nobody waiting, once there
// are enough of them to make it worth while. all.mu is held.
func (all *sights) sweep() {
	if len(all.of) < all.sweepAt {
		return
	}
	maps.DeleteFunc(all.of, func(_ view, g *sight) bool { return g.over() })
	maps.DeleteFunc(all.turns, func(_ string, t turn) bool { return time.Since(t.at) >= t.interval/2 })
	all.sweepAt = 2*len(all.of) + 16
}

func (all *sights) drop(v view, g *sight) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of[v] == g {
		delete(all.of, v)
	}
}

// turn returns which children of the path, whose list it is, are to be made sure of by who doubts
// the server that often: of the members, and of the others, those that wait for the longest.
// However many watch the path, there are two turns an interval at most, of the shortest.
func (all *sights) turn(path string, list *sight, interval time.Duration) map[string]bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	now := time.Now()
	if now.Sub(all.turns[path].at) < interval/2 {
		return nil
	}
	all.turns[path] = turn{now, interval}
	type child struct {
		name string
		*sight
	}
	var seen []child
	for _, name := range list.names {
		if g := all.of[view{recipe.Join(path, name), data}]; g != nil && latch.IsClosed(g.ready) && !g.over() {
			seen = append(seen, child{name, g})
		}
	}
	slices.SortFunc(seen, func(a, b child) int { return a.waiting.Compare(b.waiting) })
	due, members, others := make(map[string]bool), asked, askedOthers
	for _, c := range seen {
		left := &members
		if c.stat.EphemeralOwner == 0 {
			left = &others
		}
		if *left--; *left >= 0 {
			due[c.name], c.waiting = true, now
		}
	}
	return due
}

// stands reports whether g's watch stands. The client's watches must, and the server must
// not have used it up without an event, as it does if the node may not be read then. It is
// asked twice an interval at most, however many watch the node.
func (all *sights) stands(ctx context.Context, s *zklock.Session, v view, g *sight, interval time.Duration) (bool, error) {
	standing := client.Of(s).Watches()
	if g.connection != standing.Connection && !standing.Set {
		return false, nil
	}
	all.mu.Lock()
	fresh := time.Since(g.confirmed) < interval/2
	all.mu.Unlock()
	if fresh {
		return true, nil
	}
	// Of those that share an answer, each has seen the same watches stand before it was asked for.
	key := fmt.Sprintf("%d %d %s", standing.Connection, v.of, v.path)
	answer := all.checks.DoChan(key, func() (any, error) {
		return request(s, v.check)
	})
	select {
	case r := <-answer:
		if client.Refused(r.Err) { // as ZooKeeper 3.9.2 does if the node may not be read: a read will tell
			return false, nil
		}
		if r.Err != nil {
			return false, r.Err
		}
		all.mu.Lock()
		defer all.mu.Unlock()
		g.confirmed = time.Now()
		return r.Val.(reading).shows(g.reading, v.of), nil
	case <-ctx.Done():
		return false, client.Ended(ctx)
	case <-s.Closed():
		return false, zklock.ErrClosed
	}
}
