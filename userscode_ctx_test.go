package zklock_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// hasty is a context that is over and does not say why, as one is that has a Done of
// its own, and of which Err was forgotten.
type hasty struct {
	context.Context
	done chan struct{}
}

func (c hasty) Done() <-chan struct{} { return c.done }

func TestACallWhoseContextDoesNotSayWhyItHasEndedIsNoSuccess(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				use, held := kind(b, b.session("owner"), b.session("stranger"))
				ctx := hasty{context.Background(), make(chan struct{})}
				for range 2 { // of a cohort, one waits for the other
					go func() {
						defer func() { assert.Nil(t, recover()) }()
						err := use(ctx)
						if held.Err() == nil {
							assert.Error(t, err)
						}
					}()
				}
				time.Sleep(time.Second)
				close(ctx.done)
				time.Sleep(time.Second)
				require.NoError(t, held.Release(t.Context())) // some take no context
				time.Sleep(3 * time.Second)                   // also if it is kept
				require.Empty(t, b.ephemerals())
			})
		})
	}
}

// asking is a context whose methods ask the session.
type asking struct {
	context.Context
	t       *testing.T
	session *zklock.Session
}

func (c asking) Done() <-chan struct{} { c.ask(); return c.Context.Done() }
func (c asking) Err() error            { c.ask(); return c.Context.Err() }
func (c asking) Value(key any) any     { c.ask(); return c.Context.Value(key) }

// ask fails instead of waiting for ever.
func (c asking) ask() {
	var answered atomic.Bool
	go func() {
		c.session.ID()
		answered.Store(true)
	}()
	for range 1_000_000 {
		if answered.Load() {
			return
		}
		runtime.Gosched()
	}
	c.t.Error("called under a lock of the session")
}

func TestTheMethodsOfAContextMayAskTheSession(t *testing.T) {
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				use, held := kind(b, s, b.session("stranger"))
				require.NoError(t, held.Release(t.Context()))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, use(asking{ctx, t, s}))
			})
		})
	}
}
