package queue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// writing takes a lock for writing, and returns the queue for reading it.
func writing(t *testing.T, s *Session, o Options) (*Hold, *Queue) {
	t.Helper()
	q := New(s, "/lock", recipe.Write, o)
	h := take(t, q)
	return h, q.Of(recipe.Read)
}

// The writer's node may have the mark of somebody who asks for the lock.
func TestTheNodeOfADowngradeIsAsTheUserWantsNodes(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		o := defaults()
		o.Data, o.ACL = []byte("host-a"), zk.WorldACL(zk.PermRead|zk.PermWrite)
		create(t, s.client.Conn, "/lock", zk.FlagPersistent)
		w, readers := writing(t, s, o)
		say(t, w, recipe.RevokeMark)
		<-w.Revoked()
		r, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		require.True(t, latch.IsClosed(r.Revoked()))
		for _, node := range server.Nodes() {
			if node.Path == r.Node() {
				require.Equal(t, o.Data, node.Data)
				require.Equal(t, []zktest.ACL{{Perms: zk.PermRead | zk.PermWrite, Scheme: "world", ID: "anyone"}}, node.ACL)
				require.Equal(t, s.client.ID(), node.Stat.EphemeralOwner, "it goes with its session")
				return
			}
		}
		require.Fail(t, "there is no node of the reader")
	})
}

// Writers that queue already have nodes older than the reader's.
func TestADowngradeListsNothingAndItsReaderHasTheTokenOfItsWriter(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		var told []int64
		o := defaults()
		o.NewHistory = func(_ string, token int64) History {
			told = append(told, token)
			return untold{}
		}
		w, readers := writing(t, s, o)
		synctest.Wait()
		before := server.Requests()[zktest.OpGetChildren2]
		r, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, before, server.Requests()[zktest.OpGetChildren2])
		require.Equal(t, w.Token(), r.Token())
		require.Equal(t, []int64{w.Token(), w.Token()}, told)
	})
}

func TestADowngradeThatIsBegunAsItsSessionClosesGrantsNothing(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		w, readers := writing(t, s, defaults())
		s.Close()
		c, _, err := readers.create(t.Context(), w.contender.incarnation, entry{
			nodes: 1, above: *readers.parents(), beside: w.contender, check: client.Check(w.contender.node),
		})
		require.NoError(t, err)
		_, err = c.grant(t.Context(), c.carrier)
		require.ErrorIs(t, err, client.ErrClosed)
	})
}

// downgraded has a downgrade of w made.
func downgraded(ctx context.Context, readers *Queue, w *Hold) <-chan outcome {
	return ask(ctx, func(ctx context.Context, call Call) (*Hold, error) { return readers.Downgrade(ctx, w, call) })
}

// say writes on the node of a writer, who hears of it a moment later.
func say(t *testing.T, w *Hold, what string) {
	t.Helper()
	write(t, w.Client().Conn, w.Node(), []byte(what))
}

func TestADowngradeThatKnowsOfTheWishForItsLockIsOneRequest(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		w, readers := writing(t, s, defaults())
		say(t, w, recipe.RevokeMark)
		<-w.Revoked()
		synctest.Wait()
		before := server.Requests()
		_, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		after := server.Requests()
		require.Equal(t, before[zktest.OpMulti]+1, after[zktest.OpMulti])
		require.Equal(t, before[zktest.OpGetData], after[zktest.OpGetData])
	})
}

func TestADowngradeThatEndsJustBeforeTheGrantLeavesAWriterThatWasAskedForItsLock(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		w, readers := writing(t, s, defaults())
		say(t, w, recipe.RevokeMark)
		<-w.Revoked()
		ctx, cancel := context.WithCancel(t.Context())
		r, err := readers.Downgrade(thoughtful{ctx, atTheGrant(s, "/lock", cancel)}, w, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.Nil(t, r)
		synctest.Wait()
		require.NoError(t, w.Err())
		require.Equal(t, []string{recipe.Base(w.Node())}, server.Children("/lock"))
	})
}

// What is said there may be the wish for the lock.
func TestADowngradeReadsOnWithoutALockUntilItIsKnownWhatTheNodeSays(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, code := connectRefused(t, server, wire.OpGetData)
		w, readers := writing(t, s, defaults())
		say(t, w, recipe.RevokeMark)
		code.Store(throttled)
		came := downgraded(t.Context(), readers, w)
		time.Sleep(sessionTimeout / 4)
		require.Empty(t, came)
		code.Store(0)
		o := <-came
		require.NoError(t, o.err)
		require.True(t, latch.IsClosed(o.hold.Revoked()))
		synctest.Wait()
		require.ElementsMatch(t, []string{recipe.Base(w.Node()), recipe.Base(o.hold.Node())}, server.Children("/lock"))
	})
}

func TestWhatADowngradeHasAskedItsNodeIsCountedAmongWhatCallsHaveLeftUntilItIsAnswered(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		w, readers := writing(t, s, defaults())
		say(t, w, "at work")
		cleaned := full(t, s)
		defer close(cleaned)
		cleaned <- struct{}{}
		synctest.Wait()
		hung := server.HoldReply(zktest.OpGetData, zktest.OnPath(w.Node()))
		ctx, cancel := context.WithCancel(t.Context())
		came := downgraded(ctx, readers, w)
		<-hung.Struck()
		require.NoError(t, s.client.MakeRoom(overCtx(t)))
		cancel()
		require.ErrorIs(t, (<-came).err, context.Canceled)
		require.Error(t, s.client.MakeRoom(overCtx(t)))
		hung.Release()
		synctest.Wait()
		require.NoError(t, s.client.MakeRoom(overCtx(t)))
		require.Equal(t, []string{recipe.Base(w.Node())}, server.Children("/lock"))
	})
}

func TestADowngradeOfAWriterWhoseNodeIsGoneSaysThatTheLockIsLost(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		w, readers := writing(t, s, defaults())
		require.NoError(t, connect(t, server).client.Conn.Delete(w.Node(), -1))
		r, err := readers.Downgrade(t.Context(), w, nil)
		require.ErrorIs(t, err, ErrLost)
		require.NotErrorIs(t, err, zk.ErrNoNode)
		require.Nil(t, r)
	})
}

// Who tries again and again on a server that hangs would pile up what has yet to be cleaned up.
func TestADowngradeWaitsWhileTooMuchIsLeftByCallsBefore(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		w, readers := writing(t, s, defaults())
		cleaned := full(t, s)
		clean := sync.OnceFunc(func() { close(cleaned) })
		defer clean()
		nodes := func() int32 {
			synctest.Wait()
			return server.Nodes()[0].Stat.Cversion // of /lock
		}
		before := nodes()
		ctx := within(t, time.Second)
		_, err := readers.Downgrade(ctx, w, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, before, nodes())
		clean()
		_, err = readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
	})
}

// overCtx returns a context that has ended.
func overCtx(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Nobody is to be told of a call that gets nowhere when it is over.
func TestTheLogTellsOfNoCallThatIsOver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		w, readers := writing(t, s, defaults())
		_, err := readers.Downgrade(t.Context(), w, nil)
		require.NoError(t, err)
		time.Sleep(10 * sessionTimeout)
		s.end()
		require.NotContains(t, log.String(), "gets nowhere")
	})
}

func TestWhoAsksWhatItsNodeSaysStopsWithItsCall(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		hung := server.HoldRequest(zktest.OpGetData, zktest.OnPath(h.Node()))
		ctx := within(t, time.Second)
		require.ErrorIs(t, h.contender.read(ctx), context.DeadlineExceeded)
		hung.Release()
	})
}
