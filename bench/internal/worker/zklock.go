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

// zklockClient is zklock as it is meant to be used: a session per process and a
// Locker per path, which all goroutines share.
type zklockClient struct {
	session *zklock.Session
	lockers map[string]*zklock.Locker
}

func connectZKLock(server string) (client, error) {
	s, err := zklock.Connect(context.Background(), []string{server}, sessionTimeout)
	if err != nil {
		return nil, err
	}
	return zklockClient{session: s, lockers: make(map[string]*zklock.Locker)}, nil
}

func (c zklockClient) close() { _ = c.session.Close() }

func (c zklockClient) mutex(path, variant string) (mutex, error) {
	options, ok := variants[variant]
	if !ok {
		return mutex{}, fmt.Errorf("zklock has no variant %q", variant)
	}
	key := path + " " + variant
	if c.lockers[key] == nil {
		l, err := zklock.New(c.session, path, options...)
		if err != nil {
			return mutex{}, err
		}
		c.lockers[key] = l
	}
	l := c.lockers[key]
	return mutex{
		lock:    func() error { return l.LockContext(context.Background()) },
		unlock:  func() error { l.Unlock(); return nil },
		tryLock: func() (bool, error) { return l.TryLock(), nil },
		reenter: func(n int) error {
			for range n {
				l.Lock()
				//lint:ignore SA2001 the empty critical section is what is measured
				l.Unlock()
			}
			return nil
		},
	}, nil
}

func (c zklockClient) readWrite(path string) (read, write mutex, err error) {
	l, err := zklock.NewRW(c.session, path)
	if err != nil {
		return mutex{}, mutex{}, err
	}
	return standard(l.RLocker()), standard(l), nil
}

// standard is a mutex of any sync.Locker.
func standard(l sync.Locker) mutex {
	return mutex{
		lock:   func() error { l.Lock(); return nil },
		unlock: func() error { l.Unlock(); return nil },
	}
}
