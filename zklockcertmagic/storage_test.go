package zklockcertmagic_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockcertmagic"
	"github.com/zklock/zklock/zktest"
)

const (
	name    = "issue_cert_*.example.com/ü"
	timeout = 4 * time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inBubble runs test in virtual time, with a server of its own.
func inBubble(t *testing.T, test func(t *testing.T, server *zktest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, zktest.NewServer(t)) })
}

// instance is a process that uses certmagic.
type instance struct {
	*zklockcertmagic.Storage
	session *zklock.Session
	server  *zktest.Server
	place   *zktest.Client
}

func newInstance(t *testing.T, server *zktest.Server, opts ...zklock.Option) instance {
	t.Helper()
	place := server.Client("")
	session, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, timeout, zklock.WithDialer(place.Dial))
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	s, err := zklockcertmagic.New(&certmagic.FileStorage{Path: t.TempDir()}, session, "/app/certificates", opts...)
	require.NoError(t, err)
	return instance{s, session, server, place}
}

// lose has the instance lose what it holds.
func (i instance) lose() {
	i.server.ExpireSession(i.session.ID())
	time.Sleep(timeout)
}

// isCutOff has the instance lose what it holds, but not its session, which servers end a tick later.
func (i instance) isCutOff() {
	i.place.Block(zktest.ToServer)
	time.Sleep(timeout)
	i.place.Unblock()
}

// lock asks for the lock in the background.
func (i instance) lock(ctx context.Context) <-chan error {
	locked := make(chan error, 1)
	go func() { locked <- i.Lock(ctx, name) }()
	synctest.Wait()
	return locked
}

func (i instance) requireTry(t *testing.T, want bool) {
	t.Helper()
	got, err := i.TryLock(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestOneHasALockAndTheNextWhenItIsUnlocked(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		require.NoError(t, other.Lock(t.Context(), "another"))
		here, there := one.lock(t.Context()), other.lock(t.Context())
		one.requireTry(t, false)
		other.requireTry(t, false)
		require.Empty(t, here)
		require.Empty(t, there)
		require.NoError(t, one.Unlock(t.Context(), name))
		synctest.Wait()
		require.Equal(t, 1, len(here)+len(there))
		holder, waits := one, there
		if len(there) == 1 {
			holder, waits = other, here
		}
		require.NoError(t, holder.Unlock(t.Context(), name))
		require.NoError(t, <-waits)
	})
}

func TestATryTakesAFreeLock(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		one.requireTry(t, true)
		other.requireTry(t, false)
		require.NoError(t, one.Unlock(t.Context(), name))
		other.requireTry(t, true)
	})
}

func TestAContextThatHasEndedTakesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.ErrorIs(t, one.Lock(ended(), name), context.Canceled)
		got, err := one.TryLock(ended(), name)
		require.False(t, got)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, one.Lock(t.Context(), name))
		got, err = one.TryLock(ended(), name)
		require.False(t, got)
		require.ErrorIs(t, err, context.Canceled)

		for _, i := range []instance{one, other} {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			require.ErrorIs(t, i.Lock(ctx, name), context.DeadlineExceeded)
		}
		require.NoError(t, one.Unlock(t.Context(), name))
		other.requireTry(t, true)
	})
}

func TestAnUnlockUnderAContextThatHasEndedUnlocksAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		require.ErrorIs(t, one.Unlock(ended(), name), context.Canceled)
		synctest.Wait()
		other.requireTry(t, true)
	})
}

func TestAnUnlockWaitsTenSecondsForServers(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		server.Refuse(true)
		server.CutSession(one.session.ID())
		began := time.Now()
		require.ErrorIs(t, one.Unlock(context.Background(), name), context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		server.Refuse(false)
		require.NoError(t, other.Lock(t.Context(), name))
	})
}

func TestWhatIsNotHeldIsNeitherUnlockedNorRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, other.Lock(t.Context(), name))
		waits := one.lock(t.Context())
		require.ErrorIs(t, one.Unlock(t.Context(), name), zklock.ErrNotHeld)
		require.ErrorIs(t, one.RenewLockLease(t.Context(), name, time.Minute), zklock.ErrNotHeld)
		require.NoError(t, other.RenewLockLease(t.Context(), name, time.Minute))
		require.NoError(t, other.Unlock(t.Context(), name))
		require.ErrorIs(t, other.Unlock(t.Context(), name), zklock.ErrNotHeld)
		require.ErrorContains(t, other.RenewLockLease(t.Context(), name, time.Minute), "*.example.com")
		require.NoError(t, <-waits)
		require.NoError(t, one.Unlock(t.Context(), name))
	})
}

func TestALostLockIsTakenAgainIfItIsFree(t *testing.T) {
	for _, lose := range []func(instance){instance.lose, instance.isCutOff} {
		inBubble(t, func(t *testing.T, server *zktest.Server) {
			one, other := newInstance(t, server, zklock.WithLossGrace(time.Hour)), newInstance(t, server)
			require.NoError(t, one.Lock(t.Context(), name))
			lose(one)
			require.NoError(t, one.RenewLockLease(t.Context(), name, time.Minute))
			other.requireTry(t, false)
			require.NoError(t, one.Unlock(t.Context(), name))
			other.requireTry(t, true)
		})
	}
}

func TestALostLockThatAnotherHasIsNotRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		one.lose()
		other.requireTry(t, true)
		require.ErrorIs(t, one.RenewLockLease(t.Context(), name, time.Minute), zklock.ErrLocked)
		require.NoError(t, other.Unlock(t.Context(), name))
		require.NoError(t, one.RenewLockLease(t.Context(), name, time.Minute), "certmagic's next try")
		other.requireTry(t, false)
		require.NoError(t, one.Unlock(t.Context(), name))
	})
}

// Unlock does not say whose lock it is to give back.
func TestALostLockKeepsOthersOfItsProcessWaitingUntilItIsUnlocked(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one := newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		one.lose()
		waits := one.lock(t.Context())
		one.requireTry(t, false)
		require.Empty(t, waits)
		require.NoError(t, one.Unlock(t.Context(), name), "there is nothing to be released any more")
		require.NoError(t, <-waits)
		require.NoError(t, one.RenewLockLease(t.Context(), name, time.Minute))
	})
}

// The renewal's lock is not left behind when its owner has gone in the meantime.
func TestAnUnlockDuringARenewalCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newInstance(t, server), newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		one.lose()
		held := server.HoldRequest(zktest.OpCreate)
		renewed := make(chan error)
		go func() { renewed <- one.RenewLockLease(t.Context(), name, time.Minute) }()
		<-held.Struck()
		require.NoError(t, one.Unlock(t.Context(), name))
		held.Release()
		require.ErrorIs(t, <-renewed, zklock.ErrNotHeld)
		other.requireTry(t, true)
	})
}

func TestAClosedSessionGivesNoLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one := newInstance(t, server)
		require.NoError(t, one.Lock(t.Context(), name))
		require.NoError(t, one.session.Close())
		require.NoError(t, one.Unlock(t.Context(), name))
		require.ErrorIs(t, one.Lock(t.Context(), name), zklock.ErrClosed)
		_, err := one.TryLock(t.Context(), name)
		require.ErrorIs(t, err, zklock.ErrClosed)
	})
}

func TestBadArgumentsAreRefused(t *testing.T) {
	_, err := zklockcertmagic.New(nil, nil, "/app/certificates")
	require.ErrorContains(t, err, "storage is nil")
	_, err = zklockcertmagic.New(&certmagic.FileStorage{}, nil, "/app/certificates")
	require.ErrorContains(t, err, "session")
}
