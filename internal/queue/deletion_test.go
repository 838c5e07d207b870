package queue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// inLine has so many contenders of the session line up for the lock at path. Each sends its
// hold when it has one; the first does so at once.
func inLine(t *testing.T, s *Session, path string, n int) <-chan *Hold {
	t.Helper()
	l := lockAt(s, path)
	granted := make(chan *Hold, n)
	for range n {
		go func() {
			if h, err := l.Acquire(t.Context(), nil); err == nil {
				granted <- h
			}
		}()
		synctest.Wait()
	}
	require.Len(t, granted, 1)
	return granted
}

// goOn has the last owner leave, and returns the next one's hold.
func goOn(last *Hold, granted <-chan *Hold) *Hold {
	go last.Release(context.Background(), nil)
	return <-granted
}

// A view is looked at some time after it was sent, and the lock goes on meanwhile.
func TestAReviewOfTheQueueEndsTheHoldOfOneThatDoesNotLeadItAndNoOther(t *testing.T) {
	hidden := errors.New("the list is refused")
	for name, c := range map[string]struct {
		leave   int // how many have left since: the second, and the third
		names   func(first, second, third string) []string
		refusal error
		again   bool // the view says nothing
		lost    bool
	}{
		"it leads":                                {names: func(_, b, c string) []string { return []string{b, c} }},
		"it led, and has handed the lock on":      {leave: 1, names: func(_, b, c string) []string { return []string{b, c} }},
		"it has handed the lock on, and is gone":  {leave: 1, names: func(_, _, c string) []string { return []string{c} }, again: true},
		"the lock is free by now":                 {leave: 2, names: func(_, _, _ string) []string { return nil }},
		"a node ahead is gone by now":             {names: func(a, b, c string) []string { return []string{a, b, c} }},
		"somebody else is ahead":                  {names: func(_, b, c string) []string { return []string{"x-lock-0000000000", b, c} }, lost: true},
		"somebody else is ahead, and it has left": {leave: 1, names: func(_, b, c string) []string { return []string{"x-lock-0000000000", b, c} }, lost: true},
		"its node is not there":                   {names: func(_, _, c string) []string { return []string{c} }, lost: true},
		"the list is refused":                     {refusal: hidden, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := connected(t)
				granted := inLine(t, s, "/lock", 3)
				first := <-granted
				holds := []*Hold{goOn(first, granted)}
				synctest.Wait()
				require.Nil(t, s.live[first.contender.id], "it is forgotten")
				held := server.HoldRequest(zktest.OpMulti)
				defer held.Release()
				for range c.leave {
					if last := holds[len(holds)-1]; len(holds) < 2 {
						holds = append(holds, goOn(last, granted))
					} else {
						go last.Release(context.Background(), nil)
					}
					synctest.Wait()
				}
				view := &listing{List: &client.List{Link: s.client.Current()}}
				if c.names != nil {
					third := "another-lock-0000000002"
					if len(holds) > 1 {
						third = path.Base(holds[1].Node())
					}
					view.Names = c.names(path.Base(first.Node()), path.Base(holds[0].Node()), third)
				}
				holder := holds[len(holds)-1]
				again := s.reviewed(holds[0].contender, view, c.refusal)
				require.Equal(t, c.again, again != nil)
				if c.again {
					require.Same(t, holder.contender, again)
				}
				if c.leave < 2 {
					require.Equal(t, c.lost, errors.Is(holder.Err(), ErrLost), "%v", holder.Err())
				}
			})
		})
	}
}

// longLines makes locks with two contenders each. The paths of a few are as much as a server
// takes in one request. It returns the holds of the first, and where the others' come.
func longLines(t *testing.T, s *Session, n int) (granted []<-chan *Hold, first []*Hold) {
	t.Helper()
	for i := range n {
		granted = append(granted, inLine(t, s, fmt.Sprintf("/%s%d", strings.Repeat("x", 40_000), i), 2))
		first = append(first, <-granted[i])
	}
	return granted, first
}

func TestDeletesOfLongPathsAreRequestsThatAServerTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		granted, holds := longLines(t, s, 20)
		l := s.client.Current()
		alone := server.HoldReply(zktest.OpMulti, zktest.OnPath(holds[0].Node()))
		for i, h := range holds {
			holds[i] = goOn(h, granted[i])
			synctest.Wait()
		}
		alone.Release()
		synctest.Wait()
		require.True(t, l == s.client.Current(), "the server has not hung up")
		for _, h := range holds {
			require.NoError(t, h.Err())
			require.Len(t, server.Children(path.Dir(h.Node())), 1)
			require.NoError(t, h.Release(t.Context(), nil))
		}
	})
}

// Revoke writes on the nodes of holders, Curator's Revoker on those of waiters too.
func TestNodesThatSomebodyHasWrittenOnAreDeletedAsAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		granted := inLine(t, s, "/lock", 3)
		other := connect(t, server).client.Conn
		for _, name := range server.Children("/lock") {
			_, err := other.Set("/lock/"+name, []byte("said"), -1)
			require.NoError(t, err)
		}
		time.Sleep(sessionTimeout) // proofs go out
		second := goOn(<-granted, granted)
		synctest.Wait()
		require.Len(t, server.Children("/lock"), 2, "with the one that has the lock now checked")
		last := goOn(second, granted)
		require.NoError(t, last.Release(t.Context(), nil))
		require.Empty(t, server.Children("/lock"))
	})
}

// Those that have waited for others go ahead, in as many requests as it takes.
func TestUnlockReturnsWhenItsOwnDeleteHasBeenSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		last, err := lockAt(s, "/last").Acquire(t.Context(), nil)
		require.NoError(t, err)
		node := last.Node()
		granted, holds := longLines(t, s, 10)
		alone := server.HoldReply(zktest.OpMulti, zktest.OnPath(holds[0].Node()))
		for i, h := range holds {
			goOn(h, granted[i])
			synctest.Wait()
		}
		time.AfterFunc(time.Second, alone.Release)
		last.SendRelease(t.Context(), nil)
		there, _, err := s.client.Conn.Exists(node)
		require.NoError(t, err)
		require.False(t, there)
	})
}

// The lock goes from one to the next, whose nodes are both gone, while the answer is on its way
// that the one's is.
func TestWhomALockWentOnToIsCheckedBeforeTheNodeGoesThatKeepsOthersFromIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, server := connected(t)
		granted := inLine(t, s, "/lock", 3)
		other := connect(t, server)
		for _, name := range server.Children("/lock") {
			if c, _ := recipe.Parse(name); c.Sequence > 0 {
				require.NoError(t, other.client.Conn.Delete("/lock/"+name, -1))
			}
		}
		l := lockAt(other, "/lock")
		elsewhere := make(chan *Hold, 1)
		go func() {
			h, _ := l.Acquire(t.Context(), nil)
			elsewhere <- h
		}()
		synctest.Wait()

		refused := server.HoldReply(zktest.OpMulti)
		second := goOn(<-granted, granted)
		<-refused.Struck()
		third := goOn(second, granted)
		later := server.HoldRequest(zktest.OpMulti, zktest.OnPath(second.Node()))
		defer later.Release()
		refused.Release()
		require.NotNil(t, <-elsewhere)
		require.ErrorIs(t, third.Err(), ErrLost)
	})
}
