package zklock

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/zklock/zklock/internal/client"
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
	if s.begin() {
		go p.run(s)
		return
	}
	p.err = ErrClosed
	close(p.done)
}

func (p *pending[T]) run(s *Session) {
	defer s.work.Done()
	p.value, p.err = p.request()
	close(p.done)
}

// sendUnder is send for a caller that waits at once. Without an end of ctx to be
// prompt at it needs no goroutine.
func sendUnder[T any](ctx context.Context, s *Session, request func() (T, error)) *pending[T] {
	if ctx.Done() != nil {
		return send(s, request)
	}
	p := &pending[T]{done: closed, err: ErrClosed}
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

// endings are our own reasons to give a request up.
var endings = []error{ErrClosed, errSizes, context.Canceled, context.DeadlineExceeded}

// transient tells whether err leaves hope that the same request fares better next
// time.
func transient(err error) bool {
	return !client.Refused(err) && !slices.ContainsFunc(endings, func(ending error) bool { return errors.Is(err, ending) })
}

// persist calls f on a connection until it succeeds, is refused, or ctx ends.
func (s *Session) persist(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		_, _, err := s.await(ctx, anySession)
		if err == nil {
			err = f()
		}
		switch {
		case err == nil, !transient(err):
			return err
		case ctx.Err() != nil, sleep(ctx, pauseBefore(try)) != nil:
			return ended(ctx)
		}
	}
}
