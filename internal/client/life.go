package client

import (
	"context"
	"sync"
)

// life is whether a client is open, and what runs in it.
type life struct {
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // goroutines and requests that Close waits for, as long as a server does
	told   sync.WaitGroup // functions of the user's, for which no server is kept waiting

	mu     sync.Mutex // guards closed; nothing is locked under it
	closed bool
}

func newLife() *life {
	l := new(life)
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// Context ends when the client is closed.
func (l *life) Context() context.Context { return l.ctx }

// Spawn runs f in a goroutine that Close waits for. It reports whether it does: a client that
// is closed runs nothing.
func (l *life) Spawn(f func()) bool {
	if !l.Begin() {
		return false
	}
	go func() {
		defer l.work.Done()
		f()
	}()
	return true
}

// Tell is Spawn of a function of the user's, which may take its time.
func (l *life) Tell(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.told.Go(f)
	}
}

// Begin makes Close wait for the caller's End. It reports whether it does: once the client is
// closed, the connection must not be used.
func (l *life) Begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Add(1)
	}
	return !l.closed
}

// End says that what Begin began is over.
func (l *life) End() { l.work.Done() }

// Closed reports whether the client is closed.
func (l *life) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// end has nothing begin any more.
func (l *life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}
