package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// Between the hand-over inside a session and the moment when the next owner's goroutine runs,
// the hold may be lost.
func TestAHoldThatIsLostOnTheWayToItsNextOwnerIsNotReturned(t *testing.T) {
	for kind, shared := range map[string]bool{"a node each": false, "a shared node": true} {
		for how, lose := range map[string]func(*contender){
			"the node is deleted": func(c *contender) { c.lose(errNodeDeleted) },
			"the lease ends": func(c *contender) {
				c.queue.session.endLease()
			},
		} {
			t.Run(kind+", "+how, func(t *testing.T) {
				virtual.Test(t, func(t *testing.T) { loseOnTheWay(t, lose, shared) })
			})
		}
	}
}

func loseOnTheWay(t *testing.T, lose func(*contender), shared bool) {
	s, _ := connected(t)
	q := lockAt(s, "/lock")
	l := Source(q)
	if shared {
		l = NewHandoff(q, 4, 0)
	}
	h := take(t, l)
	granted := make(chan *Hold, 1)
	go func() {
		next, err := l.Acquire(t.Context(), nil)
		assert.NoError(t, err)
		granted <- next
	}()
	synctest.Wait()

	s.mu.Lock()
	c, successor := h.contender, h.contender.successor
	h.end(released)
	if c.handoff != nil && c.handoff.passOn(c) {
		successor = c
	} else {
		c.leaveLocked()
	}
	handed := successor.hold
	lose(successor)
	s.mu.Unlock()

	next := <-granted
	require.NotNil(t, handed)
	require.NotSame(t, handed, next)
	require.True(t, next.Valid(), "a call that returns success holds the lock at that moment")
	require.NoError(t, next.Release(t.Context(), nil))
}

// The owner before may have had it for less.
func TestANodeStaysForItsMinimumThoughItsNextOwnerNeverHadIt(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		const least = time.Hour
		l := share(s, 4, 0)
		l.queue.options.MinHold = least
		h := lock(t, l)
		next := ask(t.Context(), l.Acquire)
		s.mu.Lock()
		h.end(released)
		handed := l.passOn(h.contender)
		s.endLease()
		s.mu.Unlock()
		require.True(t, handed)
		time.Sleep(least - time.Nanosecond)
		synctest.Wait()
		require.Contains(t, server.Children("/lock"), recipe.Base(h.Node()))
		require.NotEqual(t, h.Node(), (<-next).hold.Node())
	})
}
