package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// However many come and go meanwhile.
func TestOfManyProtectedEachHasItsTurnBeforeTheOthersHaveAnother(t *testing.T) {
	const rounds, most = 400, 500
	random := rand.New(rand.NewPCG(1, 2))
	var p protected
	var there []*contender
	var newest *contender             // unless it has gone
	waits := make(map[*contender]int) // proofs, and never more than it takes to check all who are there
	for range rounds {
		for range random.IntN(80) {
			if len(there) < most {
				newest = new(contender)
				there = append(there, newest)
				p.add(newest)
				p.add(newest)
			}
		}
		for range random.IntN(80) {
			if len(there) > 0 {
				i := random.IntN(len(there))
				p.remove(there[i])
				p.remove(there[i])
				p.checked(there[i])
				if there[i] == newest {
					newest = nil
				}
				delete(waits, there[i])
				there = slices.Delete(there, i, i+1)
			}
		}
		require.Equal(t, len(there), p.length)
		require.Len(t, p.all(), len(there))
		if len(there) > 0 {
			for _, ahead := range []*contender{new(contender), there[random.IntN(len(there))]} {
				requireAhead(t, p.due(ahead), ahead)
				require.True(t, newest == nil || slices.Contains(p.due(ahead)[:2], newest))
			}
		}
		due := p.due(nil)
		require.Len(t, due, min(len(there), 1+inTurn))
		if newest != nil {
			requireAhead(t, due, newest)
		}
		for _, c := range there {
			waits[c]++
			require.LessOrEqual(t, waits[c], most/inTurn+1)
			require.True(t, c.among.is)
		}
		for _, c := range due {
			p.checked(c)
			waits[c] = 0
		}
	}
}

func requireAhead(t *testing.T, due []*contender, first *contender) {
	t.Helper()
	require.Same(t, first, due[0])
	require.False(t, slices.Contains(due[1:], first), "once is enough")
}

// manyHolds returns so many holds of a session, whose own watches do not stand.
func manyHolds(t *testing.T, s *Session, n int) []*Hold {
	t.Helper()
	time.Sleep(2 * selfWatchDelay) // the session has looked for watches of a connection before
	held := make([]*Hold, n)
	for i := range held {
		h := take(t, lockAt(s, fmt.Sprintf("/many%d", i)))
		s.mu.Lock()
		h.contender.selfWatch = time.Time{}
		s.mu.Unlock()
		held[i] = h
	}
	return held
}

// A server may have lost its watch.
func TestANodeThatHasGoneUntoldIsFoundWhenItsTurnComes(t *testing.T) {
	const n, proofs = 300, 300/inTurn + 2
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		operator := connect(t, server)
		held := manyHolds(t, s, n)
		time.Sleep(sessionTimeout + time.Millisecond) // between two proofs
		s.mu.Lock()
		due := s.protected.due(nil)
		s.mu.Unlock()
		gone := []*Hold{due[1].hold, due[2].hold, held[n-1]}
		for _, h := range gone {
			require.NoError(t, operator.client.Conn.Delete(h.Node(), -1))
		}
		synctest.Wait()
		require.False(t, due[1].hold.IsLost(), "nobody has told")
		for range gone { // a proof finds one: those behind it do not lose their turn
			require.NoError(t, s.proveProtected())
		}
		require.True(t, due[1].hold.IsLost() && due[2].hold.IsLost() && held[n-1].IsLost())
		gone = append(gone, held[n/2])
		require.NoError(t, operator.client.Conn.Delete(held[n/2].Node(), -1))
		for range proofs {
			require.NoError(t, s.proveProtected())
		}
		for i, h := range held {
			require.Equal(t, slices.Contains(gone, h), h.IsLost(), i)
		}
	})
}

func TestNoTimerOfTheWatchesIsLeftWhenTheSessionIsClosed(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		s.end()
		require.False(t, s.watchAgain.Stop())
	})
}
