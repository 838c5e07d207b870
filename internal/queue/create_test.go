package queue

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// connectTold returns a session of the server, and its log, which is to be read behind
// synctest.Wait.
func connectTold(t *testing.T, server *zktest.Server) (*Session, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer) // a handler writes one line at a time
	return connectBy(t, server, new(clock.Clock), sessionTimeout,
		client.Options{Dialer: server.Dial, Logger: slog.New(slog.NewTextHandler(log, nil))}), log
}

// unreadable is everybody's leave to do everything but list and read.
func unreadable() []zk.ACL { return zk.WorldACL(zk.PermAll &^ zk.PermRead) }

// It is a round trip to the next server until it is known whether there is a node.
func TestATryIsNotRefusedForTheNodeOfACallThatHasEnded(t *testing.T) {
	for name, inTime := range map[string]bool{"while its create was under way": true, "while its node was looked for": false} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
			s := connect(t, server)
			require.NoError(t, hold(t, s).Release(t.Context(), nil)) // the path is there
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			unanswered := server.HoldReply(zktest.OpCreate, zktest.OnPath("/lock/"))
			ended := make(chan error)
			go func() {
				_, err := lockAt(s, "/lock").Acquire(ctx, nil)
				ended <- err
			}()
			<-unanswered.Struck()
			if inTime {
				leave()
				require.ErrorIs(t, <-ended, context.Canceled)
			}
			server.Cut()
			if !inTime {
				synctest.Wait()
				leave()
				require.ErrorIs(t, <-ended, context.Canceled)
			}
			h, err := lockAt(s, "/lock").Try(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/lock"))
		})
	}
}

// nodes notes the nodes that a call is told of.
type nodes []string

func (n *nodes) Enqueued(node string, _ int64, _ Enqueued) { *n = append(*n, node) }
func (*nodes) Acquired(*Hold)                              {}

func TestACreateThatWaitsToBeWrittenWhenItsSessionEndsLeavesNoNode(t *testing.T) {
	for name, goesOn := range map[string]bool{"the call goes on": true, "the call has ended": false} {
		t.Run(name, func(t *testing.T) {
			clogging(t, func(t *testing.T, server *zktest.Server, s *Session, clog func()) {
				require.NoError(t, hold(t, s).Release(t.Context(), nil))
				clog()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var told nodes
				got := make(chan *Hold)
				go func() {
					h, err := lockAt(s, "/lock").Acquire(ctx, &told)
					assert.Equal(t, goesOn, err == nil, "%v", err)
					got <- h
				}()
				synctest.Wait()
				if !goesOn {
					leave()
					<-got
				}
				creates := server.Requests()[zktest.OpCreate]
				l := s.client.Current()
				server.ExpireSession(l.ID)
				l.Close()
				if goesOn {
					h := <-got
					require.Equal(t, nodes{h.Node()}, told)
					require.NoError(t, h.Release(t.Context(), nil))
				}
				time.Sleep(reconnectTimeout)
				if goesOn {
					creates++ // the call's own, once more
				}
				require.Equal(t, creates, server.Requests()[zktest.OpCreate])
				require.Empty(t, server.Children("/lock"))
			})
		})
	}
}

// What a caller waits for then is in the log too: it may have gone.
func TestOnlyASearchThatIsRefusedSaysThatANodeMayBeLeft(t *testing.T) {
	for name, c := range map[string]struct {
		lose    func(*zktest.Server, zktest.Op, ...zktest.Filter) *zktest.Fault
		refused bool
	}{
		"there is a node":     {lose: (*zktest.Server).DropReply},
		"there is none":       {lose: (*zktest.Server).DropRequest},
		"the list is refused": {lose: (*zktest.Server).DropReply, refused: true},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, log := connectTold(t, server)
			writing := New(s, "/lock", recipe.Write, defaults())
			w := take(t, writing)
			synctest.Wait() // it is proved
			if c.refused {
				allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermRead)
			}
			c.lose(server, zktest.OpMulti, zktest.OnPath("/lock/"))
			r, err := writing.Of(recipe.Read).Downgrade(t.Context(), w, nil)
			synctest.Wait()
			require.Len(t, server.Children("/lock"), 2)
			if c.refused {
				require.ErrorIs(t, err, zk.ErrNoAuth)
				require.ErrorContains(t, err, "looking for the node of a create")
				require.Contains(t, log.String(), "a lock node may be left")
				allow(t, s.client.Conn, "/lock", zk.PermAll)
				time.Sleep(time.Minute)
				require.Len(t, server.Children("/lock"), 1, "it was looked for again")
				require.Zero(t, running("listYet"))
				return
			}
			require.NoError(t, err)
			require.NoError(t, r.Err())
			require.NotContains(t, log.String(), "a lock node may be left")
		})
	}
}

func TestANodeThatIsFoundButHiddenByItsAccessListIsDeletedAtOnce(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, hold(t, s).Release(t.Context(), nil)) // the path lets everybody in
		o := defaults()
		o.ACL = zk.WorldACL(zk.PermAll &^ zk.PermRead)
		server.DropReply(zktest.OpCreate, zktest.OnPath("/lock/"))
		_, err := New(s, "/lock", recipe.Exclusive, o).Acquire(t.Context(), nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, "the ACL of /lock/")
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
		require.Zero(t, running("listYet"))
	})
}

// The node went with its session.
func TestANodeIsNotLookedForWhenItsSessionHasEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s := connect(t, server)
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		allow(t, s.client.Conn, "/lock", zk.PermAll&^zk.PermRead)
		server.DropReply(zktest.OpCreate, zktest.OnPath("/lock/"))
		_, err := lockAt(s, "/lock").Acquire(t.Context(), nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.NotZero(t, running("listYet"))
		require.True(t, server.ExpireSession(s.id))
		time.Sleep(2 * time.Minute)
		require.Zero(t, running("listYet"))
	})
}

// Nothing would be known of its end until it is watched, or proved.
func TestAPermitThatIsDeletedWhileItIsLookedForIsTakenAnew(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, permits(t, s, 1, 1).Release(t.Context(), nil))
		server.DropReply(zktest.OpMulti, zktest.OnPath("/sem/leases/"))
		look := server.HoldRequest(zktest.OpExists, zktest.OnPath("/sem/leases/"))
		came := forPermits(t.Context(), s)
		<-look.Struck()
		nodes := server.Children("/sem/leases")
		require.Len(t, nodes, 1)
		require.NoError(t, connect(t, server).client.Conn.Delete("/sem/leases/"+nodes[0], -1))
		look.Release()
		h := (<-came).hold
		require.True(t, h.Valid())
		require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/sem/leases"))
	})
}

// A resource would refuse a holder that has no token.
func TestANodeThatWasFoundIsNoHoldUntilTheServerHasToldItsToken(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, code := connectRefused(t, server, wire.OpExists)
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		server.DropReply(zktest.OpCreate, zktest.OnPath("/lock/"))
		code.Store(throttled)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		time.Sleep(sessionTimeout / 4)
		require.Empty(t, came)
		code.Store(0)
		h := (<-came).hold
		_, stat, err := s.client.Conn.Get(h.Node())
		require.NoError(t, err)
		require.Equal(t, stat.Czxid, h.Token())
	})
}

// A server that fails on the way back from a write has carried it out. Its caller may have gone
// when that is known.
func TestANodeThatTheServerMadeAndErredAtIsFound(t *testing.T) {
	for name, gone := range map[string]bool{"for who waits": false, "for who has gone": true} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			s, code := connectRefused(t, server, wire.OpMulti)
			require.NoError(t, (<-forPermits(t.Context(), s)).hold.Release(t.Context(), nil))
			turn := server.HoldReply(zktest.OpGetData, zktest.OnPath("/sem/leases"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			came := forPermits(ctx, s)
			<-turn.Struck()
			made := server.HoldReply(zktest.OpMulti, zktest.OnPath("/sem/leases/"))
			code.Store(-5)
			turn.Release()
			<-made.Struck()
			require.Len(t, server.Children("/sem/leases"), 1)
			if gone {
				cancel()
				require.ErrorIs(t, (<-came).err, context.Canceled)
			}
			made.Release()
			synctest.Wait()
			code.Store(0)
			if !gone {
				h := (<-came).hold
				require.True(t, h.Valid())
				require.NoError(t, h.Release(t.Context(), nil))
			}
			synctest.Wait()
			require.Empty(t, server.Children("/sem/leases"))
		})
	}
}

// It may have gone over another connection than the create, to a server that lags.
func TestAListThatWasSentAlongWithACreateDoesNotProveThatItsNodeIsGone(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		q := lockAt(s, "/lock")
		inc, err := s.await(t.Context())
		require.NoError(t, err)
		c, view, err := q.create(t.Context(), inc, q.lockNode())
		require.NoError(t, err)
		defer c.leaveUnused()
		view.Names = nil
		_, err = view.placeAmong(view.Nodes(), c)
		require.ErrorIs(t, err, client.ErrStale)
		h, err := c.grantFirst(t.Context(), view)
		require.NoError(t, err, "another list shows it")
		require.Same(t, c, h.contender)
	})
}

// A session may live for years.
func TestWhatIsNeverSentIsNotKeptInMemory(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, server *zktest.Server, s *Session, q *Queue){
		"a create that is too long": func(t *testing.T, _ *zktest.Server, _ *Session, q *Queue) {
			q.options.Data = make([]byte, 2<<20)
			_, err := q.Acquire(t.Context(), nil)
			require.ErrorContains(t, err, "ZooKeeper accepts 1048575")
		},
		"a delete in a session that is over": func(t *testing.T, server *zktest.Server, s *Session, q *Queue) {
			h := take(t, q)
			server.ExpireSession(s.client.ID())
			<-h.Lost()
			time.Sleep(sessionTimeout)
			require.Zero(t, server.Requests()[zktest.OpDelete], "the node has gone with the session")
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			q := weak.Make(lockAt(s, "/used"))
			use(t, server, s, q.Value())
			require.NoError(t, hold(t, s).Release(t.Context(), nil))
			synctest.Wait()
			runtime.GC()
			require.Nil(t, q.Value())
		})
	}
}

// The session may be replaced between the look at it and the write.
func TestANodeThatWasMadeInAnotherSessionIsNoPlace(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		c, _ := lockAt(s, "/lock").newContender(&incarnation{id: s.id - 1}, lockAt(s, "/lock").lockNode())
		node := "/lock/" + recipe.Sequential(recipe.Stem(c.id, recipe.Exclusive), 0)
		create(t, s.client.Conn, node, zk.FlagEphemeral)
		err := c.adopt(s.client.Current(), []string{node}, 1)
		require.Equal(t, client.ErrSessionOver, err)
		require.Empty(t, c.node)
		synctest.Wait()
		require.Empty(t, server.Children("/lock"), "nobody waits behind it for the session's life")
	})
}

// A try of the session is not to be refused for it.
func TestACallThatEndsAsItsCreateIsAnsweredHasLeft(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
		inc, err := s.await(t.Context())
		require.NoError(t, err)
		q := lockAt(s, "/lock")
		c, _, err := q.create(t.Context(), inc, q.lockNode())
		require.NoError(t, err)
		c.leaveWhenCreated(func() error { return nil })
		require.Empty(t, s.wanted([]string{recipe.Base(c.node)}))
		<-c.leaveUnused().done.Done()
		require.Empty(t, server.Children("/lock"))
	})
}

// Then it may be older than the create.
func TestWhatIsReadBehindACreateSaysNothingWhereTheCreateWasNotAnswered(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		hold(t, s) // there is the path
		read := client.Exists("/lock")
		require.NoError(t, s.client.Ask(t.Context(), read))
		for _, err := range []error{nil, zk.ErrConnectionClosed} {
			a := &arrival{contender: &contender{queue: lockAt(s, "/lock")}, err: err}
			a.stood(read)
			require.Equal(t, err == nil, a.since != 0)
		}
	})
}
