package zklock

import (
	"context"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// KeyedLock is a lock that [List] or [Watch] has found, of a [Keyed] or of any other kind.
type KeyedLock struct {
	Path string // as New, Inspect and Revoke take it
	Key  string // if HasKey

	// HasKey says that Key is whose lock it is, if the path is one of a Keyed. Of any other path it is what
	// the last part would stand for there. It is not known of a stripe (see [WithStripes]), whose path
	// says which it is, nor of a long key whose node this session may not read, or no Keyed has made.
	HasKey bool

	// Contenders are those who hold the lock, and those who wait for it, as [Inspect] returns them.
	// From List there is at least one.
	Contenders []Contender
}

// HiddenError says which paths a session may not read: somebody may hold a lock there, or below. It is
// zk.ErrNoAuth.
type HiddenError struct {
	Paths []string // as New and Inspect take them, in order

	says []string
}

func (e *HiddenError) Error() string { return strings.Join(e.says, "; ") }
func (e *HiddenError) Unwrap() error { return zk.ErrNoAuth }

// List returns those locks at and below prefix that somebody holds or waits for, in the order of their
// paths: those of a [Keyed] on prefix, and any others. It tells who uses a lock, not who may: a path that
// nobody uses has none.
//
// It costs what [Inspect] does for each path there, 32 at a time, but for the nodes of locks: also for the
// nodes of keys that nobody has used for a minute or two, which the servers have not removed yet. The
// answer is of no single moment: each lock is as it was when it was looked at. If some of the paths may
// not be read, List returns the other locks, and an error that is a [HiddenError]; of prefix itself it is
// zk.ErrNoAuth alone.
func List(ctx context.Context, s *Session, prefix string) ([]KeyedLock, error) {
	whole, err := s.checkBelow(ctx, "list", prefix)
	if err != nil {
		return nil, err
	}
	t, err := s.walk(ctx, whole)
	if err != nil {
		return nil, wrap("list", whole, s.client.Explain(err))
	}
	var found []KeyedLock
	for _, path := range t.paths() {
		if l, err := t.lock(ctx, path); err != nil {
			return nil, wrap("list", whole, s.client.Explain(err))
		} else if len(l.Contenders) > 0 {
			found = append(found, l)
		}
	}
	return found, wrap("list", whole, t.refused())
}

// checkBelow returns the whole of a prefix, or what is wrong with the arguments.
func (s *Session) checkBelow(ctx context.Context, op, prefix string) (string, error) {
	if err := s.made(); err != nil {
		return "", wrap(op, prefix, err)
	}
	if prefix != "/" {
		if err := recipe.CheckPath(prefix); err != nil {
			return "", wrap(op, prefix, err)
		}
	}
	whole := s.client.Below(prefix)
	if client.HasEnded(ctx) {
		return "", wrap(op, whole, client.Ended(ctx))
	}
	return whole, nil
}
