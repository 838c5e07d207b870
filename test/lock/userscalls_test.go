package lock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// calling is a context whose Err calls the session back.
type calling struct {
	context.Context
	s *zklock.Session
}

func (c calling) Err() error {
	c.s.ID()
	return c.Context.Err()
}

func TestAContextsErrMayCallTheSession(t *testing.T) {
	const many = 4 // so that some wait for the others
	for name, opts := range map[string][]zklock.Option{
		"a node each": nil, "a shared node": {zklock.WithHandoff(many)}, "a kept node": {zklock.WithRetention(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, zklock.WithDialer(server.Dial))
			require.NoError(t, err)
			l, err := zklock.New(s, "/lock", opts...)
			require.NoError(t, err)
			var work sync.WaitGroup
			for range many {
				work.Go(func() {
					ctx := calling{context.Background(), s}
					_ = l.LockContext(ctx)
					_ = l.UnlockContext(ctx)
					_ = l.Do(ctx, func(context.Context) error { return nil })
					if ok, _ := l.TryLockFor(ctx, time.Second); ok {
						l.Unlock()
					}
				})
			}
			over := make(chan struct{})
			go func() {
				defer close(over)
				work.Wait()
			}()
			select {
			case <-over:
				require.NoError(t, s.Close())
			case <-time.After(10 * time.Second):
				require.FailNow(t, "it hangs")
			}
		})
	}
}
