package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// stems are what other libraries have ahead of the sequence.
var stems = []string{"", "lock-", "n_", "lock_", "n-", "x-72057594037927936-", "lock"}

// other makes children of /lock as other programs do. It returns how to take each away.
func other(t *testing.T, server *zktest.Server, flags int32, names ...string) (takeAway []func()) {
	t.Helper()
	conn := connect(t, server).client.Conn
	_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.True(t, err == nil || errors.Is(err, zk.ErrNodeExists))
	for _, name := range names {
		node, err := conn.Create("/lock/"+name, nil, flags, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		takeAway = append(takeAway, func() { require.NoError(t, conn.Delete(node, -1)) })
	}
	return takeAway
}

// waits requires that the call waits.
func waits(t *testing.T, came <-chan outcome, why string) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	require.Empty(t, came, why)
}

func TestALockWaitsForWhatAnotherLibraryHasMade(t *testing.T) {
	for _, kind := range []recipe.Kind{recipe.Exclusive, recipe.Write, recipe.Read} {
		for _, stem := range stems {
			runInSession(t, fmt.Sprintf("%v behind %sN", kind, stem), func(t *testing.T, s *Session, server *zktest.Server) {
				release := other(t, server, zk.FlagEphemeralSequential, stem, stem)
				q := lockAt(s, "/lock").Of(kind)
				_, err := q.Try(t.Context(), nil)
				require.ErrorIs(t, err, ErrLocked)
				came := ask(t.Context(), q.Acquire)
				waits(t, came, "behind two")
				release[0]()
				waits(t, came, "behind one")
				release[1]()
				h := granted(t, came)
				other(t, server, zk.FlagEphemeralSequential, stem)
				require.NoError(t, h.Release(t.Context(), nil))
				waits(t, ask(t.Context(), q.Acquire), "who comes behind us is ahead of who comes later")
			})
		}
	}
}

// A lock on the path above has these below it. Their numbers may be anything.
func TestThePathsOfOtherLocksAreInNobodysWay(t *testing.T) {
	for _, flags := range []int32{zk.FlagPersistent, zk.FlagContainer} {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			other(t, server, flags, "order-0000000000", "0000000001", "n_0000000005", "order-0000000007", "order-1234567890")
			server.SetSequence("/lock", 5)
			for _, kind := range []recipe.Kind{recipe.Exclusive, recipe.Write, recipe.Read} {
				q := lockAt(s, "/lock").Of(kind)
				h := granted(t, ask(t.Context(), q.Try))
				require.NoError(t, h.Release(t.Context(), nil))
			}
			first := lock(t, lockAt(s, "/lock"))
			came := ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
			require.NoError(t, first.Release(t.Context(), nil))
			require.NoError(t, granted(t, came).Release(t.Context(), nil))
			require.NotContains(t, log.String(), "level=WARN")
		})
	}
}

// The first lock looks at all of them together, and the next ones at none.
func TestAThousandPathsBelowALockCostTheFirstCallAFewRoundTrips(t *testing.T) {
	const trip = 10 * time.Millisecond
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(trip/2, trip/2))
		var names []string
		for i := range 400 {
			names = append(names, fmt.Sprintf("order-%010d", i))
		}
		other(t, server, zk.FlagPersistent, names...)
		s := connect(t, server)
		for _, reads := range []int{len(names), 0, 0} {
			before, began := server.Requests()[zktest.OpGetData], time.Now()
			h := take(t, lockAt(s, "/lock"))
			require.Equal(t, reads, server.Requests()[zktest.OpGetData]-before)
			require.LessOrEqual(t, time.Since(began), 5*trip)
			require.NoError(t, h.Release(t.Context(), nil))
			time.Sleep(time.Second)
		}
	})
}

// Of those the session keeps no watch, so that each call asks for all of them, as servers before 3.9.2 let it.
func TestPathsThatMayNotBeReadAreLookedAtTogether(t *testing.T) {
	const trip = 10 * time.Millisecond
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithVersion("3.8"), zktest.WithLatency(trip/2, trip/2))
		conn := connect(t, server).client.Conn
		for i := range 100 {
			name := fmt.Sprintf("order-%010d", i)
			other(t, server, zk.FlagPersistent, name)
			allow(t, conn, "/lock/"+name, zk.PermAll&^zk.PermRead)
		}
		s := connect(t, server)
		for range 2 {
			began := time.Now()
			h := take(t, lockAt(s, "/lock"))
			require.LessOrEqual(t, time.Since(began), 6*trip)
			require.NoError(t, h.Release(t.Context(), nil))
		}
	})
}

// What is deleted, and made anew as a lock's node, is looked at anew.
func TestWhatWasNoLocksNodeMayBecomeOne(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		remove := other(t, server, zk.FlagPersistent, "order-0000000000")
		server.SetSequence("/lock", 5)
		require.NoError(t, lock(t, lockAt(s, "/lock")).Release(t.Context(), nil))
		remove[0]()
		release := other(t, server, zk.FlagEphemeral, "order-0000000000")
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		waits(t, came, "it is ephemeral now")
		release[0]()
		granted(t, came)
	})
}

func TestALockIsNotHandedOnPastAnotherLibrarysNode(t *testing.T) {
	for _, stem := range stems {
		for name, share := range map[string]func(q *Queue) Source{
			"":                func(q *Queue) Source { return q },
			"with a handoff":  func(q *Queue) Source { return NewHandoff(q, 2, 0) },
			"with a retained": func(q *Queue) Source { return NewHandoff(q, 1, time.Hour) },
		} {
			runInSession(t, stem+"N "+name, func(t *testing.T, s *Session, server *zktest.Server) {
				l := share(lockAt(s, "/lock"))
				h := lock(t, l)
				release := other(t, server, zk.FlagEphemeralSequential, stem)
				time.Sleep(time.Second)
				came := ask(t.Context(), lockAt(s, "/lock").Acquire)
				require.NoError(t, h.Release(t.Context(), nil))
				waits(t, came, "it came before")
				release[0]()
				granted(t, came)
			})
		}
	}
}

func TestANodeIsKeptBesideThePathsOfOtherLocksAndGivenUpForAnotherLibrarys(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other(t, server, zk.FlagPersistent, "order-0000000000", "order-1234567890")
		server.SetSequence("/lock", 5)
		l := share(s, 1, time.Hour)
		h := lock(t, l)
		node := h.Node()
		time.Sleep(time.Second)
		require.NoError(t, h.Release(t.Context(), nil))
		other(t, server, zk.FlagPersistent, "order-0000000001")
		time.Sleep(time.Second)
		h = lock(t, l)
		require.Equal(t, node, h.Node())
		require.NoError(t, h.Release(t.Context(), nil))
		other(t, server, zk.FlagEphemeralSequential, "n_")
		time.Sleep(time.Second)
		require.NotContains(t, server.Children("/lock"), recipe.Base(node))
	})
}

func TestTheLogTellsOfAnotherLibrarysNodeOnceForEachPath(t *testing.T) {
	for name, tc := range map[string]struct {
		flags int32
		child string
		told  string
	}{
		"of no known form":      {zk.FlagEphemeralSequential, "n_", "another library's node is in the queue"},
		"that says lock":        {zk.FlagEphemeralSequential, "lock-", ""},
		"of the number alone":   {zk.FlagEphemeralSequential, "", ""},
		"that no session takes": {zk.FlagSequence, "x-lock-", "a persistent node is in the queue"},
		"of Curator's":          {zk.FlagEphemeralSequential, "_c_x-lock-", ""},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			other(t, server, tc.flags, tc.child)
			for range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				_, err := lockAt(s, "/lock").Acquire(ctx, nil)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				cancel()
			}
			synctest.Wait()
			if tc.told == "" {
				require.NotContains(t, log.String(), "level=WARN")
				return
			}
			require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log)
			require.Contains(t, log.String(), `level=WARN msg="zklock: `+tc.told+`" path=/lock node=/lock/`+tc.child+"0000000000 session=0x")
		})
	}
}

// From ZooKeeper 3.9.2 on nobody is told whether a node is ephemeral that may not be read.
func TestANodeThatMayNotBeReadIsLookedAtInAnotherWay(t *testing.T) {
	for name, tc := range map[string]struct {
		flags   int32
		version string
		refusal string
	}{
		"a path, on 3.8":   {zk.FlagPersistent, "3.8", ""},
		"a lock's, on 3.8": {zk.FlagEphemeral, "3.8", "a node in the lock's queue cannot be watched"},
		"a path, on 3.9":   {zk.FlagPersistent, "3.9", "/lock/n_0000000000 may be a node of another library's lock, and its ACL does not let this session look"},
		"a lock's, on 3.9": {zk.FlagEphemeral, "3.9", "/lock/n_0000000000 may be a node of another library's lock, and its ACL does not let this session look"},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithVersion(tc.version))
			other(t, server, tc.flags, "n_0000000000")
			theirs := connect(t, server).client.Conn
			allow(t, theirs, "/lock/n_0000000000", zk.PermAll&^zk.PermRead)
			server.SetSequence("/lock", 5)
			s := connect(t, server)
			for range 2 {
				h, err := lockAt(s, "/lock").Acquire(t.Context(), nil)
				if tc.refusal != "" {
					require.ErrorIs(t, err, zk.ErrNoAuth)
					require.ErrorContains(t, err, tc.refusal)
					continue
				}
				require.NoError(t, err)
				require.NoError(t, h.Release(t.Context(), nil))
			}
		})
	}
}

// The path cannot be made anew while anything is there. A lock's node goes in time.
func TestAtTheEndOfTheCounterAnotherLibrarysNodeIsWaitedForAndAPathIsAnError(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		release := other(t, server, zk.FlagEphemeral, "n_0000000003")
		server.SetSequence("/lock", math.MaxInt32-1)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		waits(t, came, "it is a lock's")
		release[0]()
		time.Sleep(time.Minute)
		require.NoError(t, granted(t, came).Release(t.Context(), nil))
		time.Sleep(time.Second)
		other(t, server, zk.FlagPersistent, "order-0000000003")
		server.SetSequence("/lock", math.MaxInt32-1)
		ctx := within(t, time.Hour)
		_, err := lockAt(s, "/lock").Acquire(ctx, nil)
		require.ErrorContains(t, err, `/lock has the child "order-0000000003", which is no lock node`)
	})
}

// A lock on the semaphore's path is refused, one below it is not, and what is among the permits takes one.
func TestASemaphoreIsNotConfusedByNamesThatEndInDigits(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other(t, server, zk.FlagPersistent, "order-0000000000", "leases", "locks")
		conn := connect(t, server).client.Conn
		for _, name := range []string{"leases/n_0000000000", "locks/order-0000000000"} {
			_, err := conn.Create("/lock/"+name, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		sem := NewSemaphore(s, "/lock", 2, defaults())
		h, err := sem.Acquire(t.Context(), 1, nil)
		require.NoError(t, err)
		_, err = sem.Try(t.Context(), 1, nil)
		require.ErrorIs(t, err, ErrLocked)
		require.NoError(t, h.Release(t.Context(), nil))
		_, err = conn.Create("/lock/locks/n_", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, err = sem.Try(t.Context(), 1, nil)
		require.ErrorIs(t, err, ErrLocked, "another library's is in line")
	})
}

func TestWhoLooksAtANodeThatItMayNotReadStopsWithItsCall(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other(t, server, zk.FlagEphemeralSequential, "n_")
		allow(t, s.client.Conn, "/lock/n_0000000000", zk.PermAll&^zk.PermRead)
		hung := server.HoldRequest(zktest.OpExists, zktest.OnSession(s.client.ID()))
		defer hung.Release()
		ctx := within(t, time.Second)
		_, err := lockAt(s, "/lock").Acquire(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, latch.IsClosed(hung.Struck()))
	})
}
