package queue

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// atItsEnd makes the path of a lock, whose counter is at its end, by someone who has every right.
func atItsEnd(t *testing.T, server *zktest.Server, data string, acl []zk.ACL) *zk.Conn {
	t.Helper()
	owner := connect(t, server).client.Conn
	require.NoError(t, owner.AddAuth("digest", []byte("owner:key")))
	_, err := owner.Create("/lock", []byte(data), zk.FlagPersistent, acl)
	require.NoError(t, err)
	server.SetSequence("/lock", math.MaxInt32-1)
	return owner
}

// They kept each other from it for ever, with more and more nodes: each made another one before
// the others had left.
func TestACrowdAtTheEndOfTheCounterStaysAwayUntilItBeginsAnew(t *testing.T) {
	for _, sessions := range []int{1, 4} {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(5*time.Millisecond, 5*time.Millisecond))
			atItsEnd(t, server, "", zk.WorldACL(zk.PermAll))
			const n = 100
			had := make(chan error, n)
			before := server.Requests()[zktest.OpCreate]
			for range sessions {
				s := connect(t, server)
				for range n / sessions {
					go func() {
						h, err := lockAt(s, "/lock").Acquire(t.Context(), nil)
						if err == nil {
							err = h.Release(t.Context(), nil)
						}
						had <- err
					}()
				}
			}
			for range n {
				require.NoError(t, <-had)
			}
			require.LessOrEqual(t, server.Requests()[zktest.OpCreate]-before, 2*n, "a place each at the end, and one after it")
			require.Empty(t, server.Children("/lock"))
		})
	}
}

func TestAPathWhoseCounterBeginsAnewSaysWhatItSaidAndHasItsACL(t *testing.T) {
	acl := append(zk.DigestACL(zk.PermAll, "owner", "key"), zk.WorldACL(zk.PermAll)...)
	for name, enter := range map[string]func(q *Queue) (*Hold, error){
		"by one that waits": func(q *Queue) (*Hold, error) { return q.Acquire(context.Background(), nil) },
		"by one that tries": func(q *Queue) (*Hold, error) { return q.Try(context.Background(), nil) },
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			owner := atItsEnd(t, server, "the team's", acl)
			began := time.Now()
			h, err := enter(lockAt(s, "/lock"))
			require.NoError(t, err)
			require.True(t, strings.HasSuffix(h.Node(), "0000000000"), h.Node())
			require.LessOrEqual(t, time.Since(began), backoff.First, "who has made it knows that it is another one")
			data, _, err := owner.Get("/lock")
			require.NoError(t, err)
			require.Equal(t, "the team's", string(data))
			got, _, err := owner.GetACL("/lock")
			require.NoError(t, err)
			require.Equal(t, acl, got)
		})
	}
}

// By then the server has removed it if it is a container, or somebody with more rights has made
// it anew.
func TestWhoMayNotMakeThePathAnewWaitsForOthersWhoMay(t *testing.T) {
	hidden := append(zk.DigestACL(zk.PermAll, "owner", "key"), zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
	for name, other := range map[string]func(t *testing.T, owner *Session, server *zktest.Server){
		"one with more rights": func(t *testing.T, owner *Session, _ *zktest.Server) {
			require.NoError(t, hold(t, owner).Release(t.Context(), nil))
		},
		"the server": func(t *testing.T, owner *Session, _ *zktest.Server) {
			require.NoError(t, owner.client.Conn.Delete("/lock", -1))
		},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			atItsEnd(t, server, "", hidden)
			owner := connect(t, server)
			require.NoError(t, owner.client.Conn.AddAuth("digest", []byte("owner:key")))
			came := ask(t.Context(), lockAt(s, "/lock").Acquire)
			time.Sleep(time.Minute)
			synctest.Wait() // for whoever writes the log
			require.Contains(t, log.String(), "it waits for nobody to be in the queue, whose sequence counter is at its end; the last try: ")
			other(t, owner, server)
			h := (<-came).hold
			require.NotNil(t, h)
			require.Regexp(t, "-000000000[01]$", h.Node())
		})
	}
}

// Nobody would have the right to what it was.
func TestAPathWhoseACLIsHiddenIsNotMadeAnew(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		acl := append(zk.DigestACL(zk.PermAll, "owner", "key"), zk.WorldACL(zk.PermAll&^zk.PermAdmin)...)
		owner := atItsEnd(t, server, "", acl)
		for i, enter := range []func(context.Context, Call) (*Hold, error){lockAt(s, "/lock").Acquire, lockAt(s, "/lock").Try} {
			began := time.Now()
			_, err := enter(t.Context(), nil)
			require.InDelta(t, []time.Duration{reaped, 0}[i], time.Since(began), float64(time.Second))
			require.ErrorIs(t, err, recipe.ErrUnordered)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.ErrorContains(t, err, "the ACL of /lock hides a digest from this session, which has no ADMIN there")
		}
		got, _, err := owner.GetACL("/lock")
		require.NoError(t, err)
		require.Equal(t, acl, got)
	})
}

// Those who have a number that counts are there, and may be for long.
func TestWhoWaitsForTheCounterToBeginAnewHasOnePlaceThatAllSee(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		first, log := connectTold(t, server)
		h := hold(t, first)
		server.SetSequence("/lock", math.MaxInt32-1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		givesUp, waits := ask(ctx, lockAt(connect(t, server), "/lock").Acquire), ask(t.Context(), lockAt(first, "/lock").Acquire)
		time.Sleep(time.Second)
		later := ask(ctx, lockAt(first, "/lock").Acquire)
		_, err := lockAt(first, "/lock").Try(t.Context(), nil)
		require.ErrorIs(t, err, ErrLocked)
		before := server.Requests()[zktest.OpCreate]
		time.Sleep(time.Hour)
		require.Equal(t, before, server.Requests()[zktest.OpCreate])
		require.Len(t, server.Children("/lock"), 4)
		synctest.Wait()
		require.NotContains(t, log.String(), "gets nowhere", "it has a place in the queue")
		brief := within(t, time.Minute)
		_, err = lockAt(first, "/lock").Acquire(brief, nil)
		require.ErrorIs(t, err, ErrLocked)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cancel()
		require.ErrorIs(t, (<-givesUp).err, context.Canceled)
		require.ErrorIs(t, (<-later).err, context.Canceled)
		require.NoError(t, h.Release(t.Context(), nil))
		next := (<-waits).hold
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "the sequence counter is at its end, starting it afresh"))
		require.True(t, strings.HasSuffix(next.Node(), "0000000000"), next.Node())
		require.Greater(t, next.Token(), h.Token())
	})
}

// Nobody has to leave it first.
func TestAPathThatSomebodyHasMadeAnewIsEnteredWhoeverIsThere(t *testing.T) {
	for name, remake := range map[string]func(*zk.Conn) error{
		"it is there": func(conn *zk.Conn) error {
			_, err := conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			return err
		},
		"it is missing": func(*zk.Conn) error { return nil },
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			owner := atItsEnd(t, server, "", zk.WorldACL(zk.PermAll))
			left := server.HoldReply(zktest.OpDelete, zktest.OnSession(s.client.ID()))
			came := ask(t.Context(), lockAt(s, "/lock").Acquire)
			<-left.Struck()
			require.NoError(t, owner.Delete("/lock", -1))
			require.NoError(t, remake(owner))
			if name == "it is there" {
				_, err := owner.Create("/lock/config", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
			}
			left.Release()
			require.Regexp(t, "-000000000[01]$", (<-came).hold.Node())
		})
	}
}

// The numbers of permits mean nothing, so that their counter stays at its end. Their list is as
// old as its pzxid says until then: a create does not change that any more.
func TestPermitsAreNotOversoldAtTheEndOfTheirCounter(t *testing.T) {
	for _, next := range []int32{5, math.MaxInt32} {
		runInSession(t, fmt.Sprint("next is ", next), func(t *testing.T, s *Session, server *zktest.Server) {
			other := connect(t, server)
			require.NoError(t, other.client.Conn.AddAuth("digest", []byte("owner:key")))
			permits(t, other, 2, 1)
			server.SetSequence("/sem/leases", next)
			acquire := func(s *Session, n int) error {
				ctx := within(t, time.Second)
				_, err := NewSemaphore(s, "/sem", 2, defaults()).Acquire(ctx, n, nil)
				return err
			}
			require.ErrorIs(t, acquire(s, 2), ErrLocked) // and its watch on the permits stands
			allow := func(acl []zk.ACL) {
				_, err := other.client.Conn.SetACL("/sem/leases", acl, -1)
				require.NoError(t, err)
			}
			allow(zk.DigestACL(zk.PermAll, "owner", "key"))
			require.NoError(t, acquire(other, 1)) // of which ZooKeeper does not tell s
			allow(zk.WorldACL(zk.PermAll))
			require.ErrorIs(t, acquire(s, 1), ErrLocked)
			require.Len(t, server.Children("/sem/leases"), 2)
		})
	}
}

// It is kept while nobody queues, and those have left the queue who wait for it to be empty.
func TestANodeThatIsKeptDoesNotKeepTheCounterFromBeginningAnew(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		node := kept(t, share(s, 1, 24*time.Hour), server)
		server.SetSequence("/lock", math.MaxInt32-1)
		h := (<-ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)).hold
		require.NotEqual(t, node, h.Node())
	})
}

// It counts as ahead of all others: other libraries go by it.
func TestANegativeNumberDoesNotKeepOthersFromTheLock(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		first := hold(t, s)
		server.SetSequence("/lock", math.MinInt32)
		last := ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
		server.SetSequence("/lock", 1)
		next := ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
		time.Sleep(time.Minute)
		require.NoError(t, first.Release(t.Context(), nil))
		require.NoError(t, (<-next).hold.Release(t.Context(), nil))
		require.NotNil(t, (<-last).hold)
	})
}

// Its list overtook the delete, and the next node was there when the next list was made.
func TestOneThatTriesAtTheEndOfTheCounterGivesItsOwnNodeTimeToGo(t *testing.T) {
	for range 20 {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
			s := connect(t, server)
			atItsEnd(t, server, "", zk.WorldACL(zk.PermAll))
			before := server.Requests()[zktest.OpCreate]
			h, err := lockAt(s, "/lock").Try(t.Context(), nil)
			require.NoError(t, err)
			require.Regexp(t, "-0000000000$", h.Node())
			require.LessOrEqual(t, server.Requests()[zktest.OpCreate]-before, 2)
		})
	}
}

func TestWhoGivesUpAtTheEndOfTheCounterReturnsAtOnceWhateverIsUnderWay(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpDelete, zktest.OpGetACL, zktest.OpGetData, zktest.OpMulti} {
		runInSession(t, fmt.Sprint(op), func(t *testing.T, s *Session, server *zktest.Server) {
			require.NoError(t, hold(t, s).Release(t.Context(), nil))
			server.SetSequence("/lock", math.MaxInt32-1)
			hung := server.HoldRequest(op, zktest.OnSession(s.client.ID()))
			ctx := within(t, time.Second)
			began := time.Now()
			_, err := lockAt(s, "/lock").Acquire(ctx, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, time.Second, time.Since(began))
			require.True(t, latch.IsClosed(hung.Struck()))
			hung.Release()
			synctest.Wait()
			require.Empty(t, server.Children("/lock"))
		})
	}
}

// Each of them came with another node, so that the path was never empty.
func TestCallersWithADeadlineDoNotKeepTheCounterAtItsEnd(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(10*time.Millisecond, 10*time.Millisecond))
		first := connect(t, server)
		h := hold(t, first)
		server.SetSequence("/lock", math.MaxInt32-1)
		ctx, stop := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		sessions := []*Session{first, connect(t, server), connect(t, server)}
		for i := range 200 {
			s := sessions[i%len(sessions)]
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				for ctx.Err() == nil {
					brief, cancel := context.WithTimeout(ctx, time.Second)
					if h, err := lockAt(s, "/lock").Acquire(brief, nil); err == nil {
						h.SendRelease(t.Context(), nil)
					}
					cancel()
				}
			})
		}
		time.Sleep(3 * time.Second)
		require.NoError(t, h.Release(t.Context(), nil))
		patient := within(t, time.Minute)
		next, err := lockAt(connect(t, server), "/lock").Acquire(patient, nil)
		require.NoError(t, err)
		require.Less(t, next.contender.sequence, int32(10_000))
		require.NoError(t, next.Release(t.Context(), nil))
		stop()
		callers.Wait()
	})
}

// Nobody is in its way, and its number does not count: it waited for the readers, and made node after node.
func TestOneThatTriesToReadAtTheEndOfTheCounterDoesNotWaitForReaders(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		take(t, lockAt(s, "/lock").Of(recipe.Read))
		server.SetSequence("/lock", math.MaxInt32-1)
		before := server.Requests()[zktest.OpCreate]
		reads := lockAt(connect(t, server), "/lock").Of(recipe.Read)
		for range 10 {
			_, err := reads.Try(t.Context(), nil)
			require.ErrorIs(t, err, ErrLocked)
		}
		require.Equal(t, 1, server.Requests()[zktest.OpCreate]-before)
		synctest.Wait() // its delete is made in the background
		require.Len(t, server.Children("/lock"), 1)
	})
}

func TestATryThatEndsAsItLooksWhoIsThereAtTheEndOfTheCounterSaysSo(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		take(t, lockAt(s, "/lock").Of(recipe.Read))
		server.SetSequence("/lock", math.MaxInt32-1)
		other := connect(t, server)
		hung := server.HoldRequest(zktest.OpMulti, zktest.OnSession(other.client.ID()))
		defer hung.Release()
		ctx := within(t, time.Second)
		_, err := lockAt(other, "/lock").Of(recipe.Read).Try(ctx, nil)
		require.True(t, latch.IsClosed(hung.Struck()))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, ErrLocked)
		require.NotErrorIs(t, err, recipe.ErrUnordered)
	})
}

func TestWhoMayNotLookAtANodeAtTheEndOfTheCounterIsRefused(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
		other(t, server, zk.FlagEphemeralSequential, "n_")
		s := connect(t, server)
		allow(t, s.client.Conn, "/lock/n_0000000000", zk.PermAll&^zk.PermRead)
		server.SetSequence("/lock", math.MaxInt32-1)
		ctx := within(t, time.Second)
		for _, enter := range []func(context.Context, Call) (*Hold, error){lockAt(s, "/lock").Acquire, lockAt(s, "/lock").Try} {
			_, err := enter(ctx, nil)
			require.ErrorIs(t, err, zk.ErrNoAuth)
		}
	})
}

func TestWhoMayNotDeleteAPathAtItsEndIsToldSo(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		atItsEnd(t, server, "", zk.WorldACL(zk.PermAll))
		allow(t, s.client.Conn, "/", zk.PermAll&^zk.PermDelete)
		_, err := lockAt(s, "/lock").Try(t.Context(), nil)
		require.ErrorIs(t, err, recipe.ErrUnordered)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of / does not let this session delete /lock and make it again")
	})
}

func TestWhetherAPathCanBeMadeAnewSaysWhoIsThere(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		q := lockAt(s, "/lock")
		counts := take(t, q.Of(recipe.Read))
		server.SetSequence("/lock", math.MaxInt32-1)
		c, _, err := q.enter(t.Context())
		require.NoError(t, err)
		for range 2 {
			q.spend(c)
		}
		q.renewed(c.token - 1) // of a path before
		require.ErrorIs(t, q.renew(t.Context()), ErrLocked)
		require.NoError(t, counts.Release(t.Context(), nil))
		require.ErrorIs(t, q.renew(t.Context()), errLeftBehind)
		<-c.leaveUnused().done.Done()
		require.NoError(t, q.renew(t.Context()))
		synctest.Wait() // for whoever writes the log
		require.Equal(t, 1, strings.Count(log.String(), "starting it afresh"))
	})
}

func TestOnlyADigestIsShownWithoutItsSecret(t *testing.T) {
	for _, acl := range []zk.ACL{{Scheme: "digest", ID: "owner:x"}, {Scheme: "digest", ID: "owner:xx"}, {Scheme: "sasl", ID: "owner:x"}} {
		require.Equal(t, acl == zk.ACL{Scheme: "digest", ID: "owner:x"}, masked(acl))
	}
}

// A write for each look would be too dear.
func TestTheLeaderIsAskedNowAndThenForWhatKeepsAPathFromBeingMadeAnew(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		create(t, s.client.Conn, "/lock", zk.FlagPersistent)
		create(t, s.client.Conn, "/lock/"+recipe.Stem("else", recipe.Exclusive), zk.FlagEphemeralSequential)
		before := server.Requests()[zktest.OpMulti]
		for range 3 {
			require.NoError(t, lockAt(s, "/lock").confirmShown(t.Context(), server.Children("/lock")))
		}
		require.Equal(t, 1, server.Requests()[zktest.OpMulti]-before)
	})
}

func TestWhoWaitsAtTheEndOfTheCounterTakesAnotherPlaceInItsNextSession(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, connect(t, server))
		server.SetSequence("/lock", math.MaxInt32-1)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		server.ExpireSession(s.client.ID())
		time.Sleep(time.Minute)
		require.Empty(t, came)
		require.Len(t, server.Children("/lock"), 2)
		require.NoError(t, h.Release(t.Context(), nil))
		require.Regexp(t, "-0000000000$", (<-came).hold.Node())
	})
}

// It may be another goroutine's error, as in an errgroup's ctx.
func TestTheCauseOfACtxIsNotTakenForTheEndOfACounter(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s, log := connectTold(t, zktest.NewServer(t))
		h := hold(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		came := ask(ctx, lockAt(s, "/lock").Acquire)
		cancel(recipe.ErrUnordered)
		require.ErrorIs(t, (<-came).err, context.Canceled)
		require.NoError(t, h.Release(t.Context(), nil))
		synctest.Wait()
		require.NotContains(t, log.String(), "counter")
	})
}

func TestAPathIsMadeAnewThoughARequestForItIsLostOrRefused(t *testing.T) {
	drop := func(server *zktest.Server, op zktest.Op, of zktest.Filter) *zktest.Fault {
		return server.DropRequest(op, of, zktest.OnPath("/lock"))
	}
	refuse := func(server *zktest.Server, op zktest.Op, of zktest.Filter) *zktest.Fault {
		return server.RefuseRequest(op, throttled, of, zktest.OnPath("/lock"))
	}
	for name, fail := range map[string]func(*zktest.Server, zktest.Op, zktest.Filter) *zktest.Fault{"lost": drop, "refused": refuse} {
		for _, op := range []zktest.Op{zktest.OpGetChildren2, zktest.OpGetACL, zktest.OpGetData, zktest.OpMulti} {
			runInSession(t, fmt.Sprint(op, " is ", name), func(t *testing.T, s *Session, server *zktest.Server) {
				atItsEnd(t, server, "the team's", zk.WorldACL(zk.PermAll))
				q := lockAt(s, "/lock")
				c, _, err := q.enter(t.Context()) // a write, behind which a list needs none
				require.NoError(t, err)
				q.spend(c)
				<-c.leaveUnused().done.Done()
				fault := fail(server, op, zktest.OnSession(s.client.ID()))
				require.NoError(t, q.awaitRenewal(t.Context()))
				require.True(t, latch.IsClosed(fault.Struck()))
				data, stat, err := s.client.Conn.Get("/lock")
				require.NoError(t, err)
				require.Greater(t, stat.Czxid, c.token)
				require.Equal(t, "the team's", string(data))
				require.Regexp(t, "-0000000000$", take(t, q).Node())
				_, known := q.spentAt()
				require.False(t, known)
			})
		}
	}
}
