package queue

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// calls notes what a call was told of.
type calls struct {
	ahead []int
	told  []*Hold
	then  func()
}

func (c *calls) Enqueued(_ string, _ int64, at Enqueued) { c.ahead = append(c.ahead, at.Ahead()) }

func (c *calls) Acquired(h *Hold) {
	c.told = append(c.told, h)
	c.then()
}

// enqueuing calls itself when a call stands in the queue.
type enqueuing func()

func (f enqueuing) Enqueued(string, int64, Enqueued) { f() }
func (enqueuing) Acquired(*Hold)                     {}

// untold is a history with nobody to tell.
type untold struct{}

func (untold) Released() bool  { return false }
func (untold) Lost(error) bool { return false }
func (untold) Suspended() bool { return false }
func (untold) Resumed() bool   { return false }
func (untold) Tell()           {}

func TestACallIsToldOfTheHoldThatItAskedForAndOfNoTurn(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h, call := hold(t, s), &calls{then: func() {}}
		acquired(call, h)
		require.Empty(t, call.told, "a turn at the permits has no history")
		h.history = untold{}
		acquired(nil, h)
		acquired(call, h)
		require.Equal(t, []*Hold{h}, call.told)
		require.NoError(t, h.Err(), "its caller has it")
		call.then = func() { panic("the user's") }
		require.Panics(t, func() { acquired(call, h) })
		synctest.Wait()
		require.ErrorIs(t, h.Err(), ErrReleased, "its caller never gets it")
		require.Empty(t, server.Children("/lock"))
	})
}

func TestACallIsToldHowManyAreAheadIfAListHasShownIt(t *testing.T) {
	const first, ours = "x-lock-0000000001", "y-lock-0000000002"
	c, call := contenderOf("/lock/"+ours, 2), new(calls)
	enqueued(nil, c, nil)
	enqueued(call, c, nil)
	enqueued(call, c, listingOf(first, ours))
	enqueued(call, c, listingOf(ours))
	enqueued(call, c, listingOf(first)) // an early one
	require.Equal(t, []int{-1, 1, 0, -1}, call.ahead)
}
