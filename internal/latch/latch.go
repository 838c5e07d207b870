// Package latch has channels that close once.
package latch

import "sync"

// Latch is a channel that closes once, made when somebody asks for it: most locks are released
// before anybody does.
type Latch struct {
	mu sync.Mutex // guards ch; the lowest: nothing is locked under it
	ch chan struct{}
}

// Close closes the channel, once.
func (l *Latch) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ch == nil:
		l.ch = Closed
	case !IsClosed(l.ch):
		close(l.ch)
	}
}

// Done returns the channel.
func (l *Latch) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
	}
	return l.ch
}

// IsClosed reports whether the channel has been closed.
func (l *Latch) IsClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ch != nil && IsClosed(l.ch)
}

// Closed is a channel that is closed.
var Closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// IsClosed reports whether a channel that carries nothing has been closed.
func IsClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
