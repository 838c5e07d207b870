package lock_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// watchful is a session whose log is read.
type watchful struct {
	*scene
	*zklock.Session
	place *zktest.Client
	log   lockedBuffer
}

func watching(t *testing.T, f func(t *testing.T, w *watchful), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		w := &watchful{scene: &scene{t: t, server: zktest.NewServer(t, opts...), ctx: t.Context()}}
		w.place = w.server.Client("mine")
		s, err := zklock.Connect(t.Context(), []string{w.server.PipeAddr()}, 10*time.Second, zklock.WithDialer(w.place.Dial),
			zklock.WithLogger(slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
		require.NoError(t, err)
		w.Session = s
		w.theirs = w.actor("theirs")
		defer func() {
			for _, f := range w.atEnd {
				f()
			}
		}()
		defer s.Close()
		f(t, w)
	})
}

// begin has somebody lock path, until the session is closed.
func (w *watchful) begin(path string) {
	l := must(zklock.New(w.Session, path))
	go func() {
		defer func() { _ = recover() }()
		l.Lock()
	}()
}

// requireTold checks how often the log has told, after so long, that a call gets nowhere.
func (w *watchful) requireTold(t *testing.T, after time.Duration, times int) {
	t.Helper()
	time.Sleep(after)
	synctest.Wait()
	require.Equal(t, times, strings.Count(w.log.String(), "gets nowhere"), w.log.String())
}

const (
	notYet = 9900 * time.Millisecond
	byNow  = 1100 * time.Millisecond // a beat of the pulse later at most
)

func TestALockWithoutAConnectionIsToldOnceForAll(t *testing.T) {
	watching(t, func(t *testing.T, w *watchful) {
		w.server.Refuse(true)
		w.place.Cut()
		for i := range 10 {
			w.begin(fmt.Sprintf("/lock%d", i%3))
		}
		w.requireTold(t, notYet, 0)
		w.requireTold(t, byNow, 1)
		require.Contains(t, w.log.String(), "connection refused")
		w.requireTold(t, time.Hour, 1)
		w.server.Refuse(false)
		time.Sleep(time.Minute)
		require.Equal(t, 10, w.places(), "they are in line, or have their lock")
		w.server.Refuse(true)
		w.place.Cut()
		w.begin("/more")
		w.requireTold(t, time.Minute, 2)
	})
}

// The client gives each connection up that does not answer, so that the call is told to have no
// connection, or what it asks for there.
func TestALockWhoseServerDoesNotAnswerIsTold(t *testing.T) {
	for _, op := range []zktest.Op{zktest.OpCreate, zktest.OpMulti} {
		t.Run(op.String(), func(t *testing.T) {
			watching(t, func(t *testing.T, w *watchful) {
				for range 100 {
					w.server.HoldReply(op, zktest.OnClient(w.place))
				}
				w.begin("/parent/lock")
				w.requireTold(t, notYet, 0)
				w.requireTold(t, byNow+10*time.Second, 1)
				w.requireTold(t, 2*time.Minute, 1)
				require.Contains(t, w.log.String(), "path=/parent/lock")
				require.Contains(t, w.log.String(), "the answer to its create")
			})
		})
	}
}

func TestWhoStandsInTheQueueIsNotTold(t *testing.T) {
	watching(t, func(t *testing.T, w *watchful) {
		w.theirs.lock.Lock()
		theirs := must(zklock.NewSemaphore(w.theirs.Session, "/permits", 2))
		must(theirs.Acquire(w.ctx, 2))
		w.begin(statesPath)
		w.begin(statesPath) // right behind, in the same session
		sem := must(zklock.NewSemaphore(w.Session, "/permits", 2))
		go func() { _, _ = sem.Acquire(context.Background(), 1) }()
		go func() { _, _ = sem.Acquire(context.Background(), 1) }()
		w.requireTold(t, time.Hour, 0)
		require.Empty(t, w.log.String())
		w.server.Refuse(true)
		w.place.Cut()
		w.requireTold(t, time.Minute, 1)
	})
}

// The pause ahead of another try is as long as a second.
func TestALockThatIsTriedAgainAndAgainEndsWithItsSession(t *testing.T) {
	watching(t, func(t *testing.T, w *watchful) {
		for range 100 {
			w.server.DropRequest(zktest.OpCreate, zktest.OnClient(w.place))
		}
		l := must(zklock.New(w.Session, "/lock"))
		ended := make(chan error, 1)
		go func() { ended <- l.LockContext(context.Background()) }()
		time.Sleep(20*time.Second + time.Millisecond)
		require.NoError(t, w.Session.Close())
		closed := time.Now()
		require.ErrorIs(t, <-ended, zklock.ErrClosed)
		require.Zero(t, time.Since(closed))
	})
}

func TestACallThatHasGotIntoTheQueueKeepsNoOtherFromBeingTold(t *testing.T) {
	watching(t, func(t *testing.T, w *watchful) {
		w.theirs.lock.Lock()
		const tries = 18 // more than fit the time until it is told
		for range tries {
			w.server.DropRequest(zktest.OpCreate, zktest.OnClient(w.place))
		}
		w.begin(statesPath)
		w.requireTold(t, time.Hour, 1)
		require.Equal(t, 2, w.places(), "it is in line")
		for range 10 * tries {
			w.server.DropRequest(zktest.OpCreate, zktest.OnClient(w.place))
		}
		w.begin(statesPath)
		w.requireTold(t, time.Minute, 2)
	})
}
