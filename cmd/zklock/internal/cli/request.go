package cli

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// request returns what f does with the session's connection. It gives up when ctx
// ends, or when a session that is lost would; the session's Close waits for f.
func request[T any](ctx context.Context, session *zklock.Session, f func(*zk.Conn) (T, error)) (value T, err error) {
	c := client.Of(session)
	if !c.Begin() {
		return value, zklock.ErrClosed
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		defer c.End()
		value, err := f(session.Conn())
		answered <- answer{value, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
