package cli

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// While it is stopped no timer of it runs, and when it goes on it starts the command at once.
func TestAProcessThatWasStoppedBetweenTheGrantAndTheForkStartsNoCommand(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var c clock.Clock
		session, err := zklock.Connect(clock.With(t.Context(), &c), []string{server.PipeAddr()}, 10*time.Second, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		defer session.Close()
		l, err := zklock.New(session, "/p")
		require.NoError(t, err)
		hold, err := l.Acquire(t.Context())
		require.NoError(t, err)
		r := &guarded{lossFlags: lossFlags{onLost: oneOf("term")}}
		command := r.command("/bin/true", session, hold, new(job.Master))
		require.True(t, command.Valid())
		c.Step(time.Minute)
		require.False(t, command.Valid(),
			"before the fork the clock is to be asked (Hold.Valid): of a process that was stopped since the grant nothing else knows that the lock is over")
	})
}

func TestATermThatHasEndedForAnotherPermissionSaysNothingOfReading(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	l, err := zklock.New(session, "/p")
	require.NoError(t, err)
	hold, err := l.Acquire(t.Context())
	require.NoError(t, err)
	over, end := context.WithCancelCause(t.Context())
	end(zk.ErrNoAuth)
	g := new(guarded)
	require.NoError(t, g.acl.Set("world:anyone:cdr"))
	require.NoError(t, g.checkReadable(over, session, hold))
}

// As while the limits of the servers are being changed, one by one.
func TestACommandEndsInAQuarterOfTheShortestTimeoutOfItsSession(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		r, session := new(guarded), connect(t, server)
		require.Equal(t, 2500*time.Millisecond, r.killIn(session))
		for _, timeout := range []time.Duration{4 * time.Second, 8 * time.Second} {
			server.SetSessionTimeouts(timeout, timeout)
			server.Cut()
			for session.Timeout() != timeout {
				time.Sleep(time.Second)
			}
			require.Equal(t, time.Second, r.killIn(session))
		}
	})
}
