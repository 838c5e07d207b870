package zklock

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// inUse returns how many locks are kept.
func (k *Keyed) inUse() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.locks)
}

func TestNothingIsKeptOfAKeyThatNobodyUses(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := piped(t)
		k, err := NewKeyed(s, "/keys")
		require.NoError(t, err)
		for name, use := range map[string]func(t *testing.T){
			"a hold that is released": func(t *testing.T) {
				h, err := k.Acquire(t.Context(), "a")
				require.NoError(t, err)
				require.Equal(t, 1, k.inUse(), "it is held")
				require.NoError(t, h.Release(t.Context()))
			},
			"a hold that is lost": func(t *testing.T) {
				h, err := k.TryAcquire(t.Context(), "a")
				require.NoError(t, err)
				require.NoError(t, s.Conn().Delete(h.Node(), -1))
				<-h.Lost()
			},
			"calls that fail": func(t *testing.T) {
				h, err := k.Acquire(t.Context(), "a")
				require.NoError(t, err)
				_, err = k.TryAcquire(t.Context(), "a")
				require.ErrorIs(t, err, ErrLocked)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err = k.Acquire(ctx, "a")
				require.ErrorIs(t, err, ErrLocked)
				require.ErrorIs(t, k.Do(ctx, "a", nil), errNoFunction)
				require.Equal(t, 1, k.inUse(), "it is held")
				require.NoError(t, h.Release(t.Context()))
			},
			"a function that returns": func(t *testing.T) {
				require.NoError(t, k.Do(t.Context(), "a", func(ctx context.Context) error {
					require.ErrorIs(t, k.Do(ctx, "a", func(context.Context) error { panic("it runs") }), ErrDeadlock)
					require.Equal(t, 1, k.inUse())
					return k.Do(ctx, "b", func(context.Context) error {
						require.Equal(t, 2, k.inUse())
						return nil
					})
				}))
			},
			"a function that panics": func(t *testing.T) {
				require.PanicsWithValue(t, "it", func() { _ = k.Do(t.Context(), "a", func(context.Context) error { panic("it") }) })
			},
			"a context that panics": func(t *testing.T) {
				require.PanicsWithValue(t, "it", func() { _, _ = k.Acquire(panicking{t.Context()}, "a") })
			},
		} {
			use(t)
			require.Zero(t, k.inUse(), name)
		}
	})
}

// panicking is a context whose methods are a user's.
type panicking struct{ context.Context }

func (panicking) Err() error { panic("it") }

// Who asks for a key while its last owner has yet to stop waits for that owner: the lock that both use
// is one, though the hold has ended.
func TestALostKeyIsNobodyElsesInThisProcessUntilItsFunctionReturns(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := piped(t)
		k, err := NewKeyed(s, "/keys")
		require.NoError(t, err)
		lost, stop, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_ = k.Do(context.Background(), "a", func(ctx context.Context) error {
				_ = s.Conn().Delete(HoldFrom(ctx).Node(), -1)
				<-ctx.Done()
				close(lost)
				<-stop
				return nil
			})
		}()
		<-lost
		next := make(chan struct{})
		go k.Do(context.Background(), "a", func(context.Context) error {
			close(next)
			return nil
		})
		synctest.Wait()
		select {
		case <-next:
			require.Fail(t, "two functions run")
		default:
		}
		close(stop)
		<-done
		<-next
		synctest.Wait()
		require.Zero(t, k.inUse())
	})
}

// A lock that is left by its last user and asked for at the same time is one lock.
func TestAKeyIsOneLockThoughItsUsersComeAndGo(t *testing.T) {
	k, err := NewKeyed(piped(t), "/keys", WithHandoff(1000))
	require.NoError(t, err)
	inside := make([]int, 3) // by key, unguarded but by its lock
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 100 {
				key := (i + n) % len(inside)
				h, err := k.Acquire(t.Context(), fmt.Sprint(key))
				if err != nil {
					t.Error(err)
					return
				}
				inside[key]++
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	require.Equal(t, 800, inside[0]+inside[1]+inside[2])
	require.Zero(t, k.inUse())
}
