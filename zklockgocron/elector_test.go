package zklockgocron_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockgocron"
	"github.com/zklock/zklock/zktest"
)

// candidate is an instance whose scheduler has a job of every second.
type candidate struct {
	*zklockgocron.Elector
	session *zklock.Session
	runs    chan time.Time
	stop    context.CancelFunc
	ended   chan error
}

func newCandidate(t *testing.T, server *zktest.Server) *candidate {
	t.Helper()
	session := connect(t, server)
	e, err := zklockgocron.NewElector(session, "/app/leader")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{e, session, make(chan time.Time, 100), stop, make(chan error, 1)}
	require.ErrorIs(t, c.IsLeader(ctx), zklockgocron.ErrNotLeader)
	go func() { c.ended <- e.Run(ctx) }()
	s, err := gocron.NewScheduler(gocron.WithDistributedElector(e))
	require.NoError(t, err)
	_, err = s.NewJob(gocron.CronJob("* * * * * *", true), gocron.NewTask(func() { c.runs <- time.Now() }))
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { require.NoError(t, s.Shutdown()) })
	synctest.Wait()
	return c
}

func TestOneInstanceRunsAllJobsAndThenAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		first, second := newCandidate(t, server), newCandidate(t, server)
		require.NoError(t, first.IsLeader(t.Context()))
		require.ErrorIs(t, second.IsLeader(t.Context()), zklockgocron.ErrNotLeader)
		time.Sleep(5*time.Second + time.Second/2)
		require.Len(t, first.runs, 5)
		require.Empty(t, second.runs)

		first.stop()
		require.ErrorIs(t, <-first.ended, context.Canceled)
		require.ErrorIs(t, first.IsLeader(t.Context()), zklockgocron.ErrNotLeader)
		time.Sleep(5 * time.Second)
		require.Len(t, first.runs, 5)
		require.Len(t, second.runs, 5)
		second.stop()
		<-second.ended
	})
}

func TestALeadershipThatIsLostEndsAtOnceAndIsSoughtAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		c := newCandidate(t, server)
		server.Refuse(true)
		server.CutSession(c.session.ID())
		time.Sleep(timeout)
		require.ErrorIs(t, c.IsLeader(t.Context()), zklockgocron.ErrNotLeader)
		server.Refuse(false)
		time.Sleep(timeout)
		require.NoError(t, c.IsLeader(t.Context()))
		c.session.Close()
		require.ErrorIs(t, c.IsLeader(t.Context()), zklockgocron.ErrNotLeader)
		require.ErrorIs(t, <-c.ended, zklock.ErrClosed)
		c.stop()
	})
}
