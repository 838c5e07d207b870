package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zklock/zklock"
)

// variants are zklock's options that make rows of their own.
var variants = map[string][]zklock.Option{
	"":              nil,
	"WithoutOwner":  {zklock.WithoutOwner()},
	"WithHandoff":   {zklock.WithHandoff(64)},
	"WithRetention": {zklock.WithRetention(time.Second)},
}

// zklockParty is zklock as it is meant to be used: a session per process and a
// Locker per path, which all goroutines share.
type zklockParty struct{}

func (zklockParty) version() string { return "this commit" }

func (zklockParty) connect(ctx context.Context, server string) (client, error) {
	s, err := zklock.Connect(ctx, []string{server}, sessionTimeout)
	if err != nil {
		return nil, err
	}
	return &zklockClient{session: s, lockers: make(map[string]*zklock.Locker)}, nil
}

type zklockClient struct {
	session *zklock.Session
	mu      sync.Mutex
	lockers map[string]*zklock.Locker
}

func (c *zklockClient) close() { _ = c.session.Close() }

func (c *zklockClient) mutex(path, variant string) (mutex, error) {
	options, ok := variants[variant]
	if !ok {
		return nil, fmt.Errorf("zklock has no variant %q", variant)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := path + " " + variant
	if c.lockers[key] == nil {
		l, err := zklock.New(c.session, path, options...)
		if err != nil {
			return nil, err
		}
		c.lockers[key] = l
	}
	return zklockMutex{c.lockers[key]}, nil
}

type zklockMutex struct{ locker *zklock.Locker }

func (m zklockMutex) lock() error   { return m.locker.LockContext(context.Background()) }
func (m zklockMutex) unlock() error { m.locker.Unlock(); return nil }

func (m zklockMutex) tryLock() (bool, error) { return m.locker.TryLock(), nil }

func (m zklockMutex) reenter(n int) error {
	for range n {
		m.locker.Lock()
		//lint:ignore SA2001 the empty critical section is what is measured
		m.locker.Unlock()
	}
	return nil
}

func (c *zklockClient) readWrite(path string) (read, write mutex, err error) {
	l, err := zklock.NewRW(c.session, path)
	if err != nil {
		return nil, nil, err
	}
	return standard{l.RLocker()}, standard{l}, nil
}

// standard is a mutex of any sync.Locker.
type standard struct{ locker sync.Locker }

func (m standard) lock() error   { m.locker.Lock(); return nil }
func (m standard) unlock() error { m.locker.Unlock(); return nil }
