package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// A write of the size outlives the call that has sent it, by its ctx's end. It may not come when
// the next one, who says another size, has counted the permits: its check has to fail by then.
func TestATurnInWhichTheSizeIsWrittenIsOverWhenItsNodeIsGone(t *testing.T) {
	for said, handedOver := range map[string]bool{"size=2": true, "size=3": false} {
		inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
			sem := NewSemaphore(s, "/sem", 2, defaults())
			granted := make(chan *Hold, 2)
			for range 2 {
				go func() {
					if h, err := sem.turns.Acquire(t.Context(), nil); err == nil {
						granted <- h
					}
				}()
				synctest.Wait()
			}
			turn := <-granted
			_, err := s.client.Conn.Create(sem.permits.dir, []byte(said), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			require.NoError(t, sem.agree(t.Context(), turn, client.Content{Data: []byte(said), Stat: new(zk.Stat)}, 0))
			data, _, err := s.client.Conn.Get(sem.permits.dir)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("size=%d", sem.size), string(data))

			held := []*zktest.Fault{
				server.HoldRequest(zktest.OpDelete, zktest.OnPath(turn.Node())), server.HoldRequest(zktest.OpMulti, zktest.OnPath(turn.Node())),
			}
			go turn.Release(context.Background(), nil)
			synctest.Wait()
			require.Equal(t, handedOver, len(granted) == 1, said)
			for _, f := range held {
				f.Release()
			}
			go (<-granted).Release(context.Background(), nil)
			synctest.Wait()
		})
	}
}

// The user asks whether the lock is taken: a server that hangs says nothing of that.
func TestOnlyACallThatHadToWaitForPermitsSaysThatTheyAreTaken(t *testing.T) {
	for name, taken := range map[string]bool{"the permits are out": true, "the server hangs": false} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			sem := NewSemaphore(s, "/sem", 1, defaults())
			h, err := sem.Acquire(t.Context(), 1, nil)
			require.NoError(t, err)
			if !taken {
				require.NoError(t, h.Release(t.Context(), nil))
				defer server.HoldRequest(zktest.OpMulti, zktest.OnPath(sem.permits.dir)).Release()
			}
			ctx := within(t, sessionTimeout/10)
			_, err = sem.Acquire(ctx, 1, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, taken, errors.Is(err, ErrLocked), "%v", err)
		})
	}
}

// permits takes n of a semaphore's, without a wait.
func permits(t *testing.T, s *Session, size, n int) *Hold {
	t.Helper()
	sem := NewSemaphore(s, "/sem", size, defaults())
	return granted(t, ask(t.Context(), func(ctx context.Context, _ Call) (*Hold, error) { return sem.Acquire(ctx, n, nil) }))
}

// forPermits makes a call that waits for one of a semaphore of size 1.
func forPermits(ctx context.Context, s *Session) <-chan outcome {
	sem := NewSemaphore(s, "/sem", 1, defaults())
	return ask(ctx, func(ctx context.Context, _ Call) (*Hold, error) { return sem.Acquire(ctx, 1, nil) })
}

// The node of a semaphore that Curator made says nothing.
func TestTheSizeIsSetByWhoeverHasTheTurnUnlessPermitsOfAnotherSizeAreOut(t *testing.T) {
	everybody := zk.WorldACL(zk.PermAll)
	for name, tc := range map[string]struct {
		said    string
		out     int
		written int32 // how often, since it was read
		acl     []zk.ACL
		says    string // the node, in the end
		err     error
		text    string
	}{
		"it is the same":                    {said: "size=2", out: 2, acl: everybody, says: "size=2"},
		"it was another one":                {said: "size=3", acl: everybody, says: "size=2"},
		"it is another one":                 {said: "size=3", out: 1, acl: everybody, says: "size=3", err: errSizes, text: "size=2, and the permits that are out were taken with size=3"},
		"something long is said":            {said: strings.Repeat("3", longestSize), out: 1, acl: everybody, says: strings.Repeat("3", longestSize), err: errSizes, text: "taken with " + strings.Repeat("3", longestSize) + ":"},
		"too much is said":                  {said: strings.Repeat("3", longestSize+1), out: 1, acl: everybody, says: strings.Repeat("3", longestSize+1), err: errSizes, text: "taken with " + strings.Repeat("3", longestSize) + "...:"},
		"something short is said":           {said: "3", out: 1, acl: everybody, says: "3", err: errSizes},
		"nothing is said, and one is out":   {out: 1, acl: everybody, says: "size=2"},
		"somebody has written it meanwhile": {said: "size=3", written: 1, acl: everybody, says: "size=3", err: zk.ErrBadVersion},
		"it may not be written": {
			said: "size=3", acl: zk.WorldACL(zk.PermAll &^ zk.PermWrite), says: "size=3", err: zk.ErrNoAuth,
			text: "the ACL of /sem/leases does not let this session write the semaphore's size there",
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			sem := NewSemaphore(s, "/sem", 2, defaults())
			turn := lock(t, sem.turns)
			_, err := s.client.Conn.Create(sem.permits.dir, []byte(tc.said), zk.FlagPersistent, tc.acl)
			require.NoError(t, err)
			for range tc.written {
				write(t, s.client.Conn, sem.permits.dir, []byte(tc.said))
			}
			synctest.Wait()
			before := server.Requests()[zktest.OpMulti]
			err = sem.agree(t.Context(), turn, client.Content{Data: []byte(tc.said), Stat: new(zk.Stat)}, tc.out)
			require.ErrorIs(t, err, tc.err)
			if tc.text != "" {
				require.ErrorContains(t, err, tc.text)
			}
			require.LessOrEqual(t, server.Requests()[zktest.OpMulti], before+1)
			data, _, err := s.client.Conn.Get(sem.permits.dir)
			require.NoError(t, err)
			require.Equal(t, tc.says, string(data))
		})
	}
}

func TestWhoSaysAnotherSizeThanThosePermitsThatAreOutIsRefused(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := permits(t, s, 3, 1)
		_, err := NewSemaphore(s, "/sem", 2, defaults()).Acquire(t.Context(), 1, nil)
		require.ErrorIs(t, err, errSizes)
		require.Len(t, server.Children("/sem/leases"), 1)
		require.NoError(t, h.Release(t.Context(), nil))
		require.NoError(t, permits(t, s, 2, 1).Release(t.Context(), nil))
	})
}

func TestThePermitsSayWhatTheirOwnerWantsThemTo(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		o := defaults()
		o.Data = []byte("mine")
		h, err := NewSemaphore(s, "/sem", 2, o).Acquire(t.Context(), 2, nil)
		require.NoError(t, err)
		require.Len(t, h.contender.nodes, 2)
		for _, node := range h.contender.nodes {
			data, _, err := s.client.Conn.Get(node)
			require.NoError(t, err)
			require.Equal(t, o.Data, data)
		}
	})
}

// It is the list that does not come, or its connection, at each step.
func TestNobodyTakesPermitsWithoutAListOfThoseThatAreOut(t *testing.T) {
	for name, fail := range map[string]func(server *zktest.Server){
		"the size is lost":            func(server *zktest.Server) { server.DropReply(zktest.OpGetData, zktest.OnPath("/sem/leases")) },
		"the list is lost":            func(server *zktest.Server) { server.DropReply(zktest.OpGetChildren2, zktest.OnPath("/sem/leases")) },
		"the list is lost on its way": func(server *zktest.Server) { server.DropRequest(zktest.OpGetChildren2, zktest.OnPath("/sem/leases")) },
		"the list hangs": func(server *zktest.Server) {
			f := server.HoldRequest(zktest.OpGetChildren2, zktest.OnPath("/sem/leases"))
			go func() {
				<-f.Struck()
				time.Sleep(time.Second)
				server.Cut()
				f.Release()
			}()
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h := permits(t, connect(t, server), 1, 1)
			fail(server)
			came := forPermits(t.Context(), s)
			time.Sleep(sessionTimeout)
			require.Empty(t, came)
			require.Len(t, server.Children("/sem/leases"), 1)
			require.NoError(t, h.Release(t.Context(), nil))
			require.True(t, (<-came).hold.Valid())
		})
	}
}

// Its create was executed when its call had ended.
func TestAPermitThatNobodyHereKnowsIsDeletedByWhoeverOfItsSessionSeesIt(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, permits(t, s, 1, 1).Release(t.Context(), nil))
		create(t, s.client.Conn, "/sem/leases/"+recipe.Stem(s.ids.id(), recipe.Permit), zk.FlagEphemeralSequential)
		require.Len(t, server.Children("/sem/leases"), 1)
		permits(t, s, 1, 1)
	})
}

func TestATryForPermitsWaitsForNothingButTheEndOfWhatItsSessionHasLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		others int // have that many permits of two
		waits  bool
	}{
		"others have the permits": {others: 2},
		"others have one of them": {others: 1},
		"what it has left stays":  {waits: true},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			other := connect(t, server)
			if tc.others > 0 {
				permits(t, other, 2, tc.others)
			}
			if tc.waits { // its nodes cannot be deleted
				left := permits(t, s, 2, 2)
				allow(t, s.client.Conn, "/sem/leases", zk.PermAll&^zk.PermDelete)
				left.ReleaseUnused(nil)
			}
			ctx := within(t, sessionTimeout)
			began := time.Now()
			_, err := NewSemaphore(s, "/sem", 2, defaults()).Try(ctx, 2, nil)
			require.ErrorIs(t, err, ErrLocked)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, tc.waits, time.Since(began) > 0)
			synctest.Wait()
			require.Empty(t, server.Children("/sem/locks"))
		})
	}
}

// panicky is a context whose Done panics when it is said so.
type panicky struct {
	context.Context
	now func() bool
}

func (c panicky) Done() <-chan struct{} {
	if c.now() {
		panic("user")
	}
	return c.Context.Done()
}

func TestAContextThatPanicsWhenTheTurnIsGivenBackLeavesNeitherPermitsNorATurn(t *testing.T) {
	for name, size := range map[string]int{"with permits": 2, "without": 1} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			h := permits(t, connect(t, server), size, 1)
			given := func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				for _, c := range s.live {
					if c.state == leaving && recipe.Parent(c.node) == "/sem/locks" {
						return true
					}
				}
				return false
			}
			sem := NewSemaphore(s, "/sem", size, defaults())
			unanswered := server.HoldReply(zktest.OpDelete, zktest.OnPath("/sem/locks/")) // it leaves until then
			require.PanicsWithValue(t, "user", func() { sem.Try(panicky{t.Context(), given}, 1, nil) })
			unanswered.Release()
			synctest.Wait()
			require.Equal(t, []string{recipe.Base(h.Node())}, server.Children("/sem/leases"))
			require.Empty(t, server.Children("/sem/locks"))
		})
	}
}

func TestWhoWaitsForPermitsAndLosesItsTurnLinesUpAgain(t *testing.T) {
	for name, late := range map[string]bool{"while it waits": false, "as it takes them": true} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			other := connect(t, server)
			h := permits(t, other, 1, 1)
			came := forPermits(t.Context(), s)
			time.Sleep(time.Second)
			turns := server.Children("/sem/locks")
			require.Len(t, turns, 1)
			lose := func() { require.NoError(t, other.client.Conn.Delete("/sem/locks/"+turns[0], -1)) }
			if late {
				taking := server.HoldRequest(zktest.OpMulti, zktest.OnPath("/sem/leases/"))
				go h.Release(t.Context(), nil)
				<-taking.Struck()
				lose()
				taking.Release()
				time.Sleep(time.Second)
				granted(t, came)
				return
			}
			lose()
			time.Sleep(time.Second)
			require.Len(t, server.Children("/sem/locks"), 1)
			require.NotEqual(t, turns, server.Children("/sem/locks"))
			require.NoError(t, h.Release(t.Context(), nil))
			granted(t, came)
		})
	}
}

// It is not what its caller has asked for.
func TestTheLogTellsOfNoTurnThatIsLost(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		other := connect(t, server)
		h := permits(t, other, 1, 1)
		came := forPermits(t.Context(), s)
		turn := server.Children("/sem/locks")[0]
		require.NoError(t, other.client.Conn.Delete("/sem/locks/"+turn, -1))
		time.Sleep(time.Second)
		require.NotEqual(t, turn, server.Children("/sem/locks")[0])
		require.NoError(t, h.Release(t.Context(), nil))
		granted(t, came)
		require.NotContains(t, log.String(), "lost")
	})
}

// loseTurn has the turn of s end in the middle of a look at the permits that are out, since their
// number changes by the release of h.
func loseTurn(t *testing.T, server *zktest.Server, s *Session, h *Hold) (list *zktest.Fault) {
	t.Helper()
	time.Sleep(2 * selfWatchDelay)
	list = server.HoldReply(zktest.OpGetChildren2, zktest.OnPath("/sem/leases"))
	require.NoError(t, h.Release(t.Context(), nil))
	<-list.Struck()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contenderAt("/sem/locks/" + server.Children("/sem/locks")[0]).lose(errNodeDeleted)
	return list
}

func TestWhoLosesItsTurnAndTheConnectionWithItLinesUpAgain(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		h := permits(t, other, 1, 1)
		came := forPermits(t.Context(), s)
		list := loseTurn(t, server, s, h)
		server.CutSession(s.client.ID())
		list.Release()
		time.Sleep(time.Second)
		granted(t, came)
	})
}

func TestACallThatHasWaitedForPermitsSaysThatTheyAreTakenThoughItsTurnIsLost(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		permits(t, other, 2, 1)
		h := permits(t, other, 2, 1)
		ctx := within(t, time.Second)
		came := ask(ctx, func(ctx context.Context, _ Call) (*Hold, error) {
			return NewSemaphore(s, "/sem", 2, defaults()).Acquire(ctx, 2, nil)
		})
		defer loseTurn(t, server, s, h).Release()
		o := <-came
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
		require.ErrorIs(t, o.err, ErrLocked)
	})
}

func TestAWaitForPermitsEndsWithItsCallOrItsSessionAndReadsNothingMore(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *Session, cancel func())
		want error
	}{
		"the call is cancelled": {func(_ *Session, cancel func()) { cancel() }, context.Canceled},
		"the session is closed": {func(s *Session, _ func()) { s.end() }, client.ErrClosed},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			permits(t, connect(t, server), 1, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			came := forPermits(ctx, s)
			before := server.Requests()
			tc.end(s, cancel)
			require.ErrorIs(t, (<-came).err, tc.want)
			synctest.Wait()
			for _, read := range []zktest.Op{zktest.OpGetChildren2, zktest.OpGetData} {
				require.Equal(t, before[read], server.Requests()[read])
			}
			require.Empty(t, server.Children("/sem/locks"))
		})
	}
}

func TestACallForPermitsThatEndsWaitsForNoList(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, permits(t, s, 1, 1).Release(t.Context(), nil))
		list := server.HoldReply(zktest.OpGetChildren2, zktest.OnPath("/sem/leases"))
		defer list.Release()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		came := forPermits(ctx, s)
		<-list.Struck()
		cancel()
		synctest.Wait()
		require.Len(t, came, 1)
		require.ErrorIs(t, (<-came).err, context.Canceled)
	})
}

func TestASemaphoreSaysWhichACLKeepsItFromItsPermits(t *testing.T) {
	for name, tc := range map[string]struct {
		path string
		acl  int32
		text string
	}{
		"the leases may not be read": {"/sem/leases", zk.PermAll &^ zk.PermRead, "the ACL of /sem/leases does not let this session read it"},
		"the leases may not be made": {"/sem", zk.PermAll &^ zk.PermCreate, "does not let this session create a lock node there"},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			require.NoError(t, permits(t, s, 1, 1).Release(t.Context(), nil))
			if tc.path == "/sem" {
				require.NoError(t, s.client.Conn.Delete("/sem/leases", -1))
			}
			allow(t, s.client.Conn, tc.path, tc.acl)
			ctx := within(t, sessionTimeout)
			_, err := NewSemaphore(s, "/sem", 1, defaults()).Acquire(ctx, 1, nil)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.ErrorContains(t, err, tc.text)
			synctest.Wait()
			require.Empty(t, server.Children("/sem/locks"))
		})
	}
}

// Of several permits the first is proved; of the others their watch alone tells.
func TestAPermitThatCouldNotBeReadForAWhileIsWatchedAgain(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		operator := connect(t, server).client.Conn
		h := permits(t, s, 2, 2)
		second := h.contender.nodes[1]
		allow(t, operator, second, zk.PermAll&^zk.PermRead)
		time.Sleep(10 * time.Minute)
		allow(t, operator, second, zk.PermAll)
		time.Sleep(2 * time.Minute)
		require.NoError(t, h.Err())
		require.NoError(t, operator.Delete(second, -1))
		synctest.Wait()
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}
