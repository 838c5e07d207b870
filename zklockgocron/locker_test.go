package zklockgocron_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockgocron"
	"github.com/zklock/zklock/zktest"
)

func newLocker(t *testing.T, s *zklock.Session, minHold time.Duration) *zklockgocron.Locker {
	t.Helper()
	l, err := zklockgocron.NewLocker(s, path, minHold)
	require.NoError(t, err)
	return l
}

func every(t *testing.T, l *zklockgocron.Locker, period time.Duration, now func() time.Time) gocron.Locker {
	t.Helper()
	runs, err := l.Every(period, now)
	require.NoError(t, err)
	return runs
}

// requireRun checks that the job can be run, and gives its lock back at once.
func requireRun(t *testing.T, l gocron.Locker, job string) {
	t.Helper()
	run, err := l.Lock(t.Context(), job)
	require.NoError(t, err)
	require.NoError(t, run.Unlock(ended()))
}

func requireSkip(t *testing.T, l gocron.Locker, job string) {
	t.Helper()
	_, err := l.Lock(t.Context(), job)
	require.ErrorIs(t, err, zklock.ErrLocked)
}

func TestAJobThatAnotherRunsIsSkipped(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newLocker(t, connect(t, server), time.Second), newLocker(t, connect(t, server), time.Second)
		run, err := one.Lock(t.Context(), "digest")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		requireSkip(t, other, "digest")
		requireSkip(t, one, "digest")
		requireRun(t, other, "another/job")
		require.ErrorIs(t, run.Unlock(ended()), context.Canceled)
		synctest.Wait()
		requireRun(t, other, "digest")
	})
}

func TestAQuickJobKeepsItsLockForItsLeastTime(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		one, other := newLocker(t, connect(t, server), time.Minute), newLocker(t, connect(t, server), time.Minute)
		requireRun(t, one, "digest")
		time.Sleep(time.Minute - time.Nanosecond)
		requireSkip(t, other, "digest")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		requireRun(t, other, "digest")
	})
}

func TestATryWaitsForServersForHalfOfTheLeastTimeAndTenSecondsAtMost(t *testing.T) {
	for minHold, limit := range map[time.Duration]time.Duration{time.Second: time.Second / 2, time.Hour: 10 * time.Second} {
		inBubble(t, func(t *testing.T, server *zktest.Server) {
			s := connect(t, server)
			l := newLocker(t, s, minHold)
			server.Refuse(true)
			server.CutSession(s.ID())
			began := time.Now()
			_, err := l.Lock(t.Context(), "digest")
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, zklock.ErrLocked)
			require.Equal(t, limit, time.Since(began))
			server.Refuse(false)
		})
	}
}

func TestEachRunOfAFrequentJobHasALockOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		fast := every(t, newLocker(t, s, 2*time.Second), time.Second, shifted{clockwork.NewRealClock(), 800 * time.Millisecond}.Now)
		slow := every(t, newLocker(t, connect(t, server), 2*time.Second), time.Second, time.Now)
		time.Sleep(200 * time.Millisecond) // the bubble's time begins at a whole second
		requireRun(t, fast, "digest")
		require.NoError(t, s.Close())
		time.Sleep(800*time.Millisecond - time.Nanosecond)
		server.ExpireSession(s.ID())
		requireRun(t, slow, "digest")
	})
}

func TestARunIsOnceWhateverTheClocks(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		fast := every(t, newLocker(t, connect(t, server), 2*time.Second), time.Second, shifted{clockwork.NewRealClock(), 800 * time.Millisecond}.Now)
		slow := every(t, newLocker(t, connect(t, server), 2*time.Second), time.Second, time.Now)
		for range 5 {
			time.Sleep(200 * time.Millisecond)
			requireRun(t, fast, "digest")
			time.Sleep(800 * time.Millisecond)
			requireSkip(t, slow, "digest")
		}
	})
}

func TestARunMayStartALittleEarlyAndAlmostAPeriodLate(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		runs := every(t, newLocker(t, connect(t, server), 2*time.Second), time.Second, time.Now)
		time.Sleep(900 * time.Millisecond)
		requireRun(t, runs, "digest")
		time.Sleep(time.Second - time.Nanosecond)
		requireSkip(t, runs, "digest")
		time.Sleep(time.Nanosecond)
		requireRun(t, runs, "digest")
	})
}

// The clocks of three schedulers differ by 0.8 s. Without a least time each of them runs every job.
func TestSchedulersWhoseClocksDiffer(t *testing.T) {
	for _, test := range []struct {
		minHold time.Duration
		runs    int
	}{{2 * time.Second, 6}, {time.Millisecond, 18}} {
		inBubble(t, func(t *testing.T, server *zktest.Server) {
			var mu sync.Mutex
			runs := 0
			for _, by := range []time.Duration{0, 400 * time.Millisecond, 800 * time.Millisecond} {
				s, err := gocron.NewScheduler(
					gocron.WithDistributedLocker(newLocker(t, connect(t, server), test.minHold)),
					gocron.WithClock(shifted{clockwork.NewRealClock(), by}))
				require.NoError(t, err)
				_, err = s.NewJob(gocron.CronJob("*/5 * * * * *", true), gocron.NewTask(func() {
					mu.Lock()
					defer mu.Unlock()
					runs++
				}), gocron.WithName("digest"))
				require.NoError(t, err)
				s.Start()
				defer func() { require.NoError(t, s.Shutdown()) }()
			}
			time.Sleep(32 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, test.runs, runs)
		})
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		_, err := zklockgocron.NewLocker(s, path, 0)
		require.ErrorContains(t, err, "more than 0")
		_, err = zklockgocron.NewLocker(s, "relative", time.Second)
		require.ErrorContains(t, err, "relative")
		_, err = zklockgocron.NewElector(s, "relative")
		require.ErrorContains(t, err, "relative")
		l := newLocker(t, s, time.Second)
		_, err = l.Every(0, time.Now)
		require.ErrorContains(t, err, "more than 0")
		_, err = l.Every(time.Second, nil)
		require.ErrorContains(t, err, "time.Now")
	})
}
