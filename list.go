package zklock

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// KeyedLock is the lock of a key, or of the keys of a stripe, as [List] has found it.
type KeyedLock struct {
	Path string // as New, Inspect and Revoke take it
	Key  string // if HasKey

	// HasKey says that Key is whose lock it is. It is not known of a stripe (see [WithStripes]), whose
	// path says which it is, nor of a long key that this session may not read.
	HasKey bool

	// Contenders are those who hold the lock, and those who wait for it, as [Inspect] returns them.
	// There is at least one.
	Contenders []Contender
}

// List returns those locks of a [Keyed] on prefix that somebody holds or waits for, in the order of
// their paths. It tells who uses a lock, not who may: a key that nobody uses has none.
//
// It costs a list of the prefix, and what Inspect does for each key there, 32 at a time: also for the
// nodes of keys that nobody has used for a minute or two, which the servers have not removed yet. The
// answer is of no single moment: each lock is as it was when it was looked at. If some of the locks may
// not be read, List returns the others, and an error that is zk.ErrNoAuth and names them.
func List(ctx context.Context, s *Session, prefix string) ([]KeyedLock, error) {
	if err := s.made(); err != nil {
		return nil, wrap("list", prefix, err)
	}
	if err := recipe.CheckPath(prefix); err != nil {
		return nil, wrap("list", prefix, err)
	}
	whole := s.client.Below(prefix)
	if client.HasEnded(ctx) {
		return nil, wrap("list", whole, client.Ended(ctx))
	}
	names, err := s.keyNames(ctx, whole)
	if err != nil {
		return nil, wrap("list", whole, s.client.Explain(err))
	}
	found, err := s.lookAtKeys(ctx, prefix, names)
	return found, wrap("list", whole, err)
}

// keyNames returns those children of a path that are locks of keys or stripes, in order.
func (s *Session) keyNames(ctx context.Context, path string) (names []string, err error) {
	err = s.client.Persist(ctx, func() (err error) {
		if err := s.client.MakeRoom(ctx); err != nil {
			return err
		}
		names, err = s.children(ctx, path)
		return err
	})
	names = slices.DeleteFunc(names, func(name string) bool {
		_, isKey := recipe.KeyOf(name, nil)
		return !isKey && !recipe.KeyIsSaid(name) && !recipe.IsStripe(name)
	})
	slices.Sort(names)
	return names, err
}

// keysAtOnce is how many locks List looks at at the same time.
const keysAtOnce = 32

// lookAtKeys returns those locks that are in use. An error with some of them says which of the others
// may not be read.
func (s *Session) lookAtKeys(ctx context.Context, prefix string, names []string) ([]KeyedLock, error) {
	all, refused := make([]KeyedLock, len(names)), make([]error, len(names))
	group, under := errgroup.WithContext(ctx)
	group.SetLimit(keysAtOnce)
	for i, name := range names {
		group.Go(func() (err error) {
			all[i], err = s.lookAtKey(under, prefix, name)
			if client.Answers(err, zk.ErrNoAuth) {
				refused[i], err = fmt.Errorf("%s: %w", s.client.Below(all[i].Path), err), nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if client.HasEnded(ctx) {
			return nil, client.Ended(ctx)
		}
		return nil, err
	}
	all = slices.DeleteFunc(all, func(l KeyedLock) bool { return len(l.Contenders) == 0 })
	return all, together(refused)
}

// lookAtKey looks at the lock in the node of that name.
func (s *Session) lookAtKey(ctx context.Context, prefix, name string) (l KeyedLock, err error) {
	l.Path = recipe.Join(prefix, name)
	whole := s.client.Below(l.Path)
	if l.Contenders, err = s.look(ctx, whole); err != nil || len(l.Contenders) == 0 {
		return l, err
	}
	var says []byte
	if recipe.KeyIsSaid(name) {
		if says, err = s.said(ctx, whole); err != nil {
			return l, err
		}
	}
	l.Key, l.HasKey = recipe.KeyOf(name, says)
	return l, nil
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
