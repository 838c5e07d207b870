package zklock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// Between the hand-over inside a session and the moment when the next owner's
// goroutine runs, the hold may be lost.
func TestAHoldThatIsLostOnTheWayToItsNextOwnerIsNotReturned(t *testing.T) {
	for kind, opts := range map[string][]Option{"a node each": nil, "a shared node": {WithHandoff(4)}} {
		for how, lose := range map[string]func(*contender){
			"the node is deleted": func(c *contender) { c.vanish(errNodeDeleted) },
			"the lease ends": func(c *contender) {
				past := time.Now()
				c.epoch.end.Store(&past)
			},
		} {
			t.Run(kind+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { loseOnTheWay(t, lose, opts...) })
			})
		}
	}
}

func loseOnTheWay(t *testing.T, lose func(*contender), opts ...Option) {
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
	require.NoError(t, err)
	defer s.Close()
	l, err := New(s, "/lock", opts...)
	require.NoError(t, err)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	granted := make(chan *Hold, 1)
	go func() {
		next, err := l.Acquire(t.Context())
		assert.NoError(t, err)
		granted <- next
	}()
	synctest.Wait()

	s.mu.Lock()
	c, heir := h.contender, h.contender.successor
	if c.cohort != nil && c.cohort.passOn(c) {
		h.end(holdReleased)
		heir = c
	} else {
		c.leaveLocked()
	}
	handed := heir.hold
	lose(heir)
	s.mu.Unlock()

	next := <-granted
	require.NotNil(t, handed)
	require.NotSame(t, handed, next)
	require.True(t, next.Valid(), "a call that returns success holds the lock at that moment")
	require.NoError(t, next.Release(t.Context()))
}
