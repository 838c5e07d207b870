package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// An option that a kind of lock cannot heed is refused, by its name and the rule.
func TestEachOptionIsHeededOrRefusedByEachKindOfLock(t *testing.T) {
	const alone, noOwner = "it is for a Locker alone", "permits have no owner"
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		for option, c := range map[string]struct {
			zklock.Option
			rw, semaphore string // why these refuse it; "" if they heed it
		}{
			"WithACL":           {zklock.WithACL(zk.WorldACL(zk.PermAll)), "", ""},
			"WithData":          {zklock.WithData([]byte("me")), "", ""},
			"WithTrace":         {zklock.WithTrace(new(zklock.Trace)), "", ""},
			"WithMinHold":       {zklock.WithMinHold(time.Second), "", ""},
			"WithMaxHold":       {zklock.WithMaxHold(time.Second), "", ""},
			"WithLossGrace":     {zklock.WithLossGrace(time.Second), "", ""},
			"WithoutOwner":      {zklock.WithoutOwner(), "", noOwner},
			"WithHandoff(2)":    {zklock.WithHandoff(2), alone, alone},
			"WithHandoff(1)":    {zklock.WithHandoff(1), "", ""},
			"WithRetention(1s)": {zklock.WithRetention(time.Second), alone, alone},
			"WithRetention(0)":  {zklock.WithRetention(0), "", ""},
		} {
			for kind, made := range map[string]struct {
				err  error
				want string
			}{
				"Locker":    {errOf(zklock.New(s, b.path, c.Option)), ""},
				"RWLocker":  {errOf(zklock.NewRW(s, b.path, c.Option)), c.rw},
				"Semaphore": {errOf(zklock.NewSemaphore(s, b.path, 2, c.Option)), c.semaphore},
			} {
				if made.want == "" {
					require.NoError(t, made.err, "%s of a %s", option, kind)
					continue
				}
				require.ErrorContains(t, made.err, "zklock: new /lock: "+option+": ", kind)
				require.ErrorContains(t, made.err, made.want, kind)
			}
		}
	})
}

// An error has the library's name once; what others have said stays as they said it.
func TestAnErrorLeavesTheTextsOfOthersAsTheyAre(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l := b.locker(s)
		theirs := errors.New("see zklock: the page")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(theirs)
		require.EqualError(t, l.LockContext(ctx), "zklock: lock /lock: context canceled: see zklock: the page")
		cancelled := fmt.Errorf("zklock: mine, not theirs: %w", errors.Join(l.LockContext(ctx), zklock.ErrNotHeld))
		err := l.Do(t.Context(), func(ctx context.Context) error {
			b.lose(zklock.HoldFrom(ctx))
			return cancelled
		})
		require.Regexp(t, `^zklock: do /lock: lock was lost: [^:]+(: [^:]+)*; the function returned: zklock: mine, not theirs: `+
			`lock /lock: context canceled: see zklock: the page\\x0alock is not held by the caller$`, err.Error())
	})
}

// Lost answers whoever holds the lock. Anybody else is to stop.
func TestLostInsideADoIsThatOfItsHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l, rw := b.locker(s), must(zklock.NewRW(s, "/rw"))
		m := must(zklock.NewMulti(must(zklock.New(s, "/a")), must(zklock.New(s, "/b"))))
		type lost = func() <-chan struct{}
		for name, c := range map[string]struct {
			do    func(context.Context, func(context.Context) error) error
			mine  lost
			other lost // of the lock's other side
		}{
			"Locker":         {l.Do, l.Lost, nil},
			"RWLocker":       {rw.Do, rw.Lost, rw.RLost},
			"RWLocker, read": {rw.RDo, rw.RLost, rw.Lost},
			"MultiLocker":    {m.Do, m.Lost, nil},
		} {
			require.True(t, isClosed(c.mine()), name)
			require.ErrorIs(t, c.do(t.Context(), func(ctx context.Context) error {
				mine := c.mine()
				require.False(t, isClosed(mine), name)
				require.True(t, c.other == nil || isClosed(c.other()), name)
				elsewhere(func() { require.True(t, isClosed(c.mine()), "of another goroutine") })
				b.lose(zklock.HoldFrom(ctx))
				require.True(t, isClosed(mine), name)
				return nil
			}), zklock.ErrLost)
			require.True(t, isClosed(c.mine()), name)
		}
		require.NoError(t, rw.RDo(t.Context(), func(ctx context.Context) error {
			require.NoError(t, rw.RDo(ctx, nothing))
			require.False(t, isClosed(rw.RLost()), "the outer one")
			return nil
		}))
	})
}
