package zklock

import (
	"context"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Watch yields what [List] returns, and then, whenever something changes, those locks that have changed,
// in the order of their paths: one without Contenders is free. As long as some of the paths may not be
// read it yields an error with them that is a [HiddenError], and names these. Any other error is the last
// that it yields: ctx's, [ErrClosed], or that prefix itself may not be read. Slices that it has yielded
// are not to be written on.
//
// It asks the servers for nothing until the loop wants more, and changes that follow each other are told as one, 20
// times a second at most. To the servers it is one watch on prefix, however many locks there are: a node
// that is created or written costs one read, one that goes none. Everything is looked at again once in a
// minute or in 50 times as long as that takes, whichever is longer, since a session is told of no node
// that it may not read. While there is no connection it yields nothing, and then what has changed
// meanwhile.
//
// A server before ZooKeeper 3.6 has no such watch, and ends the connection when a session first asks. Then
// everything is looked at each two seconds, or in 50 times as long as that takes.
//
// Give Watch a session of its own if the session watches prefix itself too, as a lock on just that path
// does: up to 3.8 a server keeps one kind of watch of a session on a path, and when Watch ends it removes
// them all, so that the other one may be told late, or not at all.
func Watch(ctx context.Context, s *Session, prefix string) iter.Seq2[[]KeyedLock, error] {
	return func(yield func([]KeyedLock, error) bool) {
		whole, err := s.checkBelow(ctx, "watch", prefix)
		if err == nil {
			w := watching{session: s, top: whole, yield: yield, shown: make(map[string][]Contender)}
			err = wrap("watch", whole, s.client.Explain(w.run(ctx)))
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

type watching struct {
	session *Session
	top     string
	yield   func([]KeyedLock, error) bool
	stopped bool // it has returned false
	polls   bool // the servers know no watch on all that is below a path
	cuts    int  // how often the connection has ended when it was asked for

	tree    *tree
	changed map[string]bool // places of which something may have changed since they were shown
	shown   map[string][]Contender
	began   bool
	refused error // as it was shown
}

const (
	gatherTime = 50 * time.Millisecond // within it changes are told as one
	pollTime   = 2 * time.Second
	lookTime   = time.Minute
	restFactor = 50 // a rest is so many times as long as a look at everything
)

// run goes on until it was stopped, which is no error, or cannot go on.
func (w *watching) run(ctx context.Context) error {
	for {
		again, err := w.round(ctx)
		if err != nil || w.stopped {
			return err
		}
		if err := w.session.client.Sleep(ctx, again); err != nil {
			return err
		}
	}
}

// round looks at everything, and then at what changes, until it is time to look at everything again, or
// the connection is lost. It returns how long to wait before the next one.
func (w *watching) round(ctx context.Context) (again time.Duration, err error) {
	below, err := w.arm(ctx)
	if err != nil {
		return 0, err
	}
	if below != nil {
		defer below.End()
	}
	begun := time.Now()
	if err := w.look(ctx); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	if !w.show(ctx, &err) {
		return gatherTime, transient(err)
	}
	if below == nil {
		return max(pollTime, restFactor*took), nil
	}
	over := time.NewTimer(max(lookTime, restFactor*took))
	defer over.Stop()
	for {
		select {
		case <-over.C:
			return 0, nil
		case <-below.Link.Down():
			return gatherTime, nil
		case <-ctx.Done():
			return 0, client.Ended(ctx)
		case <-w.session.Closed():
			return 0, ErrClosed
		case <-below.Some():
		}
		if err := w.session.client.Sleep(ctx, gatherTime); err != nil {
			return 0, err
		}
		if err := w.follow(ctx, below); err != nil {
			return gatherTime, transient(err)
		}
		if !w.show(ctx, &err) {
			return gatherTime, transient(err)
		}
	}
}

// transient returns err unless it is over when everything is looked at again.
func transient(err error) error {
	if err != nil && client.Transient(err) {
		return nil
	}
	return err
}

// mostCuts is how often a connection may end when it is asked for a watch that servers may not know.
const mostCuts = 2

// arm sets the watch on all that is below, nil if the servers have none.
func (w *watching) arm(ctx context.Context) (below *client.Subtree, err error) {
	c := w.session.client
	err = c.Persist(ctx, func() (err error) {
		if w.polls {
			return nil
		}
		if err = c.MakeRoom(ctx); err != nil {
			return err
		}
		below, err = c.WatchSubtree(ctx, w.top)
		switch unknown := error(wire.ErrUnimplemented); {
		case err == nil:
			w.cuts = 0
		case errors.Is(err, unknown), client.Refused(err):
			w.polls = true
			return nil
		case errors.Is(err, zk.ErrConnectionClosed):
			w.cuts++
			w.polls = w.cuts == mostCuts
		}
		return err
	})
	return below, err
}

func (w *watching) look(ctx context.Context) error {
	before := w.tree
	now, err := w.session.walk(ctx, w.top)
	if err != nil {
		return err
	}
	w.tree, w.changed = now, make(map[string]bool)
	for path := range now.places {
		w.changed[path] = true
	}
	if before != nil {
		for path := range before.places {
			w.changed[path] = true
		}
	}
	return nil
}

// follow takes what has changed, and reads what was created or written.
func (w *watching) follow(ctx context.Context, below *client.Subtree) error {
	var unread []Contender
	for path, gone := range below.Take() {
		dir, name := recipe.Parent(path), recipe.Base(path)
		n, contends := recipe.Parse(name)
		switch {
		case gone:
			w.tree.forget(path)
			w.touch(path)
		case contends && path != w.top:
			unread = append(unread, Contender{Node: path, Kind: Kind(n.Kind), Foreign: n.Foreign})
		case recipe.IsPermit(name) && path != w.top:
			unread = append(unread, Contender{Node: path, Kind: Permit, Held: true})
		default:
			w.tree.at(path)
		}
		w.touch(dir)
	}
	found, err := w.session.read(ctx, unread)
	if err != nil {
		return err
	}
	for _, c := range found {
		if c.isNone() {
			w.tree.at(c.Node)
		} else {
			w.tree.put(c)
		}
	}
	return nil
}

// touch notes that something has changed of a place, and so of a semaphore that it is a part of.
func (w *watching) touch(path string) {
	w.changed[path] = true
	if name := recipe.Base(path); name == recipe.Turns || name == recipe.Permits {
		w.changed[recipe.Parent(path)] = true
	}
}

// show yields those locks that have changed since they were shown, and reports whether to go on.
func (w *watching) show(ctx context.Context, failure *error) bool {
	var locks []KeyedLock
	for _, path := range slices.Sorted(maps.Keys(w.changed)) {
		l, err := w.tree.lock(ctx, path)
		if err != nil {
			*failure = err
			return false
		}
		if before := w.shown[path]; len(l.Contenders) == 0 && len(before) == 0 || reflect.DeepEqual(before, l.Contenders) {
			continue
		}
		if w.shown[path] = l.Contenders; len(l.Contenders) == 0 {
			delete(w.shown, path)
		}
		locks = append(locks, l)
	}
	clear(w.changed)
	refused := w.tree.refused()
	same := reflect.DeepEqual(refused, w.refused)
	w.refused = refused
	if len(locks) == 0 && same && w.began {
		return true
	}
	w.began = true
	w.stopped = !w.yield(locks, wrap("watch", w.top, refused))
	return !w.stopped
}
