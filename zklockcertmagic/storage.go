// Package zklockcertmagic has the instances of a service that share certmagic's storage exclude each
// other by zklock:
//
//	storage, err := zklockcertmagic.New(&certmagic.FileStorage{Path: shared}, session, "/app/certificates")
//	certmagic.Default.Storage = storage
//
// The locks are of the sessions that took them: they need no files that grow old, and no clocks that
// agree, and those of an instance that dies are free when the servers have ended its session.
package zklockcertmagic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/zklock/zklock"
)

// Storage is a [certmagic.Storage], and a [certmagic.TryLocker] and [certmagic.LockLeaseRenewer] besides,
// whose locks are zklock's. All else is the storage's that it was made of. Its methods may be called from
// any goroutine.
//
// certmagic cannot be told of a lock that is lost while it has it, and goes on: see [zklock.ErrLost] for
// what that takes. It is so with all of its storages, and it does no more harm than a second order of a
// certificate, of which the later one is kept. [Storage.RenewLockLease], which certmagic calls before
// each try of an order, takes such a lock again. Until it does, others may have it; in this process they
// wait until the one that has lost it calls Unlock.
type Storage struct {
	certmagic.Storage
	keys *zklock.Keyed

	mu    sync.Mutex // guards locks, and their users and holds
	locks map[string]*lock
}

// lock is a lock that somebody in this process has or waits for.
type lock struct {
	turn  chan struct{} // has an element while somebody here has it, or asks the servers for it
	users int
	hold  *zklock.Hold // nil while nobody here has it
}

var (
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// New returns inner with locks that are those of a [zklock.Keyed] on path, with certmagic's names for
// keys. opts are theirs. All instances have to use the same path, and a storage that they share.
func New(inner certmagic.Storage, s *zklock.Session, path string, opts ...zklock.Option) (*Storage, error) {
	if inner == nil {
		return nil, errors.New("zklockcertmagic: the storage is nil")
	}
	keys, err := zklock.NewKeyed(s, path, opts...)
	if err != nil {
		return nil, err
	}
	return &Storage{Storage: inner, keys: keys, locks: make(map[string]*lock)}, nil
}

// Lock waits until it has the lock of name, or until ctx ends: then it returns its error and leaves
// nothing behind. Its other errors are those of [zklock.Locker.Acquire], such as [zklock.ErrClosed].
func (s *Storage) Lock(ctx context.Context, name string) error {
	l := s.use(name)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		s.leave(name, l)
		return fmt.Errorf("zklockcertmagic: lock %q, which this process has: %w", name, context.Cause(ctx))
	}
	return s.take(ctx, name, l, s.keys.Acquire)
}

// TryLock takes the lock of name unless another has it: then it returns false and no error. It waits for
// the servers as long as ctx lives. On an error it is false, too, and nothing is left behind.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	l := s.use(name)
	select {
	case l.turn <- struct{}{}:
	default:
		s.leave(name, l)
		return false, context.Cause(ctx)
	}
	err := s.take(ctx, name, l, s.keys.TryAcquire)
	if errors.Is(err, zklock.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}

// longestUnlock is how long certmagic waits, whose ctx has no end, for servers that do not answer.
const longestUnlock = 10 * time.Second

// Unlock gives the lock of name back, and waits for ZooKeeper's confirmation until ctx ends, ten seconds
// at most. On an error it was not confirmed yet, and goes on in the background until the lock or the
// session is gone. It is given back also if ctx has ended before. A lock that was lost needs no more
// than that, and is no error. Of one that this process does not have it returns [zklock.ErrNotHeld].
func (s *Storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil || l.hold == nil {
		s.mu.Unlock()
		return notHeld("unlock", name)
	}
	hold := l.hold
	l.hold = nil
	s.mu.Unlock()
	defer s.pass(name, l)
	ctx, cancel := context.WithTimeout(ctx, longestUnlock)
	defer cancel()
	if err := hold.Release(ctx); !errors.Is(err, zklock.ErrLost) {
		return err
	}
	return nil
}

// RenewLockLease returns nil if this process has the lock of name. The session keeps it for as long as
// the process lives and servers answer, whatever the duration. A lock that was lost is taken again if no
// other has it; otherwise the error is [zklock.ErrLocked], or says why it cannot be had. certmagic gives
// up that try then, and begins the next one here again. When it is nil, what the lock guards may have
// been done by others in the meantime, which certmagic looks at before it goes on. Of a lock that this
// process does not have it returns [zklock.ErrNotHeld].
func (s *Storage) RenewLockLease(ctx context.Context, name string, _ time.Duration) error {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil || l.hold == nil {
		s.mu.Unlock()
		return notHeld("renew", name)
	}
	lost := l.hold
	s.mu.Unlock()
	if lost.Valid() {
		return nil
	}
	_ = lost.Release(ctx) // or a grace of zklock.WithLossGrace would keep it from us, too
	again, err := s.keys.TryAcquire(ctx, name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.hold != lost { // an Unlock has come in between
		return errors.Join(notHeld("renew", name), again.Release(ctx))
	}
	l.hold = again
	return nil
}

func notHeld(op, name string) error {
	return fmt.Errorf("zklockcertmagic: %s %q: %w", op, name, zklock.ErrNotHeld)
}

// take takes the lock of name by get for the one whose turn it is.
func (s *Storage) take(ctx context.Context, name string, l *lock, get func(context.Context, string) (*zklock.Hold, error)) error {
	hold, err := get(ctx, name)
	if err != nil {
		s.pass(name, l)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.hold = hold
	return nil
}

// use returns the lock of name, which is kept until its users have left.
func (s *Storage) use(name string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.locks[name]
	if l == nil {
		l = &lock{turn: make(chan struct{}, 1)}
		s.locks[name] = l
	}
	l.users++
	return l
}

// pass ends the turn of one who leaves.
func (s *Storage) pass(name string, l *lock) {
	<-l.turn
	s.leave(name, l)
}

func (s *Storage) leave(name string, l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(s.locks, name)
	}
}
