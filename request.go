package zklock

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/wire"
)

// pending is a request. Its value and error stand once done is closed.
type pending[T any] struct {
	request func() (T, error)
	begun   atomic.Bool
	done    chan struct{}
	value   T
	err     error
}

// later returns a request that has yet to be sent.
func later[T any](request func() (T, error)) *pending[T] {
	return &pending[T]{request: request, done: make(chan struct{})}
}

// send runs request in a goroutine of its own, since go-zookeeper's calls take
// no context and may block until Close.
func send[T any](s *Session, request func() (T, error)) *pending[T] {
	p := later(request)
	p.send(s)
	return p
}

// send does nothing the second time.
func (p *pending[T]) send(s *Session) {
	if p.begun.Swap(true) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.sendLocked(s)
}

// sendLocked sends what is sent in one place only. s.mu is held.
func (p *pending[T]) sendLocked(s *Session) {
	if !s.spawnLocked(p.fulfil) {
		p.err = ErrClosed
		close(p.done)
	}
}

func (p *pending[T]) fulfil() {
	p.value, p.err = p.request()
	close(p.done)
}

// sendUnder is send for a caller that waits at once, until done. Without an end to be
// prompt at it needs no goroutine.
func sendUnder[T any](done <-chan struct{}, s *Session, request func() (T, error)) *pending[T] {
	if done != nil {
		return send(s, request)
	}
	p := &pending[T]{done: latch.Closed, err: ErrClosed}
	if s.begin() {
		defer s.work.Done()
		p.value, p.err = request()
	}
	return p
}

// wait returns what the request came to, or ctx's error if that ends first.
func (p *pending[T]) wait(ctx context.Context) (T, error) {
	select {
	case <-p.done:
		return p.value, p.err
	case <-ctx.Done():
		var none T
		return none, ended(ctx)
	}
}

// waitOn is wait for a request that is of no use when l is down.
func (p *pending[T]) waitOn(ctx context.Context, l *wire.Link) (T, error) {
	select {
	case <-p.done:
		return p.value, p.err
	case <-l.Down():
		var none T
		return none, zk.ErrConnectionClosed
	case <-ctx.Done():
		var none T
		return none, ended(ctx)
	}
}

// leave counts a request whose call waits for the answer no more among what calls have
// left behind: see makeRoom.
func (p *pending[T]) leave(s *Session) { s.cleanUp(func() { <-p.done }) }

// content is what a node says.
type content struct {
	data []byte
	stat *zk.Stat
}

func (s *Session) children(path string) *pending[[]string] {
	return send(s, func() ([]string, error) {
		names, _, err := s.conn.Children(path)
		return names, err
	})
}

// maxBatch bounds the paths in one request, in bytes: a server cuts the connection
// at a request longer than maxFrame. A request that deletes nodes names as many others
// beside them.
const maxBatch = 256 << 10

// batches splits items so that the paths of each part fit one request; size returns
// how long those of an item are.
func batches[T any](items []T, size func(T) int) (parts [][]T) {
	total := maxBatch
	for _, item := range items {
		more := size(item)
		if total += more; total > maxBatch {
			parts, total = append(parts, nil), more
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], item)
	}
	return parts
}
