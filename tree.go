package zklock

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// tree is what is known of the locks at and below a path. Its paths are whole.
type tree struct {
	session *Session
	top     string
	places  map[string]*place
	hidden  map[string]error // paths that may not be read
}

// place is a path that is no lock's node. It may be a lock's, and have others below it.
type place struct {
	nodes   map[string]Contender // by name: who stands in its queue, or has a permit
	said    string               // the key that the node says, if hasSaid
	hasSaid bool
}

const placesAtOnce = 32

// walk looks at all that is at and below a path, one level after the other. It begins anew if the
// connection is lost.
func (s *Session) walk(ctx context.Context, top string) (t *tree, err error) {
	err = s.client.Persist(ctx, func() (err error) {
		t = &tree{session: s, top: top, places: make(map[string]*place), hidden: make(map[string]error)}
		for level := []string{top}; len(level) > 0 && err == nil; {
			level, err = t.visit(ctx, level)
		}
		return err
	})
	return t, err
}

// visit looks at those paths and returns the ones below them.
func (t *tree) visit(ctx context.Context, level []string) (below []string, err error) {
	seen := make([]sight, len(level))
	group, under := errgroup.WithContext(ctx)
	group.SetLimit(placesAtOnce)
	for i, path := range level {
		group.Go(func() error {
			seen[i] = t.look(under, path)
			if path != t.top && client.Answers(seen[i].err, zk.ErrNoAuth) {
				return nil
			}
			return seen[i].err
		})
	}
	if err := group.Wait(); err != nil {
		if client.HasEnded(ctx) {
			return nil, client.Ended(ctx)
		}
		return nil, err
	}
	for i, path := range level {
		below = append(below, t.take(path, seen[i])...)
	}
	return below, nil
}

type sight struct {
	names []string // of its children
	found []Contender
	err   error
}

// look looks at a path, of which a part may not be readable: that is a path of its own.
func (t *tree) look(ctx context.Context, path string) (s sight) {
	if !t.mayBeLock(path) {
		s.names, s.err = t.session.children(ctx, path)
		return s
	}
	s.found, s.names, s.err = t.session.survey(ctx, path)
	if s.names != nil && client.Answers(s.err, zk.ErrNoAuth) {
		s.err = nil
	}
	return s
}

// mayBeLock reports whether a path is none that is a part of another lock. The line of a semaphore looks like
// a lock, unlike its permits; but paths may have these names without being a semaphore's.
func (t *tree) mayBeLock(path string) bool {
	return path != "/" && !(recipe.Base(path) == recipe.Turns && t.hasPermits(recipe.Parent(path)))
}

// hasPermits reports whether a path has what a semaphore's has, as far as is known.
func (t *tree) hasPermits(path string) bool {
	return path != "/" && t.places[recipe.Join(path, recipe.Permits)] != nil
}

// take notes what was seen of a path, and returns what is below it.
func (t *tree) take(path string, seen sight) (below []string) {
	if seen.err != nil {
		t.hidden[path] = seen.err
	}
	t.at(path)
	for _, c := range seen.found {
		t.put(c)
	}
	for _, name := range seen.names {
		if whole := recipe.Join(path, name); t.isPlace(path, name) && whole != "/zookeeper" {
			t.at(whole)
			below = append(below, whole)
		}
	}
	return below
}

// isPlace reports whether a child is none of a lock's nodes.
func (t *tree) isPlace(dir, name string) bool {
	n, contends := recipe.Parse(name)
	if contends && n.Foreign {
		_, contends = t.at(dir).nodes[name]
	}
	return !contends && !recipe.IsPermit(name)
}

// at returns the place of a path, which is known from now on.
func (t *tree) at(path string) *place {
	p := t.places[path]
	if p == nil {
		p = &place{nodes: make(map[string]Contender)}
		t.places[path] = p
	}
	return p
}

func (t *tree) put(c Contender) {
	t.at(recipe.Parent(c.Node)).nodes[recipe.Base(c.Node)] = c
}

// paths returns the places, in order.
func (t *tree) paths() []string { return slices.Sorted(maps.Keys(t.places)) }

// lock returns what is known of the lock on a path, also if nobody uses it.
func (t *tree) lock(ctx context.Context, path string) (l KeyedLock, err error) {
	l.Path = t.session.client.Called(path)
	if !t.mayBeLock(path) {
		return l, nil
	}
	l.Contenders = t.queue(path)
	if t.hasPermits(path) {
		permits := recipe.Join(path, recipe.Permits)
		for _, name := range slices.Sorted(maps.Keys(t.at(permits).nodes)) {
			if recipe.IsPermit(name) {
				l.Contenders = append(l.Contenders, t.at(permits).nodes[name])
			}
		}
		line := t.queue(recipe.Join(path, recipe.Turns))
		for i := range line {
			line[i].Held = false // the first has the turn to take permits, not one of them
		}
		l.Contenders = append(l.Contenders, line...)
	}
	if len(l.Contenders) == 0 {
		return l, nil
	}
	says, err := t.says(ctx, path)
	l.Key, l.HasKey = recipe.KeyOf(recipe.Base(path), says)
	return l, err
}

// queue returns those who stand in the queue of a path.
func (t *tree) queue(path string) []Contender {
	p := t.places[path]
	if p == nil {
		return nil
	}
	found := inQueue(path, slices.Collect(maps.Keys(p.nodes)))
	for i, c := range found {
		found[i] = p.nodes[recipe.Base(c.Node)]
	}
	markHolders(found)
	return found
}

// says returns what the node of a path says of its key. It is read once.
func (t *tree) says(ctx context.Context, path string) ([]byte, error) {
	p := t.places[path]
	if recipe.KeyIsSaid(recipe.Base(path)) && !p.hasSaid {
		said, err := t.session.said(ctx, path)
		if err != nil {
			return nil, err
		}
		p.said, p.hasSaid = string(said), true
	}
	return []byte(p.said), nil
}

// refused returns an error that names the paths which may not be read, nil if there is none.
func (t *tree) refused() error {
	if len(t.hidden) == 0 {
		return nil
	}
	e := new(HiddenError)
	for _, path := range slices.Sorted(maps.Keys(t.hidden)) {
		e.Paths = append(e.Paths, t.session.client.Called(path))
		e.says = append(e.says, fmt.Sprintf("%s: %v", path, t.hidden[path]))
	}
	return e
}

// said returns what a node says; nothing if it is gone, or may not be read.
func (s *Session) said(ctx context.Context, path string) (data []byte, err error) {
	err = s.client.Persist(ctx, func() error {
		read := client.Read(path)
		s.client.Send(read)
		said, err := s.content(ctx, path, read)
		data = said.Data
		if client.Answers(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	return data, s.client.Explain(err)
}

// forget notes that a node has gone.
func (t *tree) forget(path string) {
	delete(t.places, path)
	delete(t.hidden, path)
	if dir := t.places[recipe.Parent(path)]; dir != nil {
		delete(dir.nodes, recipe.Base(path))
	}
}
