package zklockgocron

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/zklock/zklock"
)

// Locker is a [gocron.Locker]: it has a job run on one instance, and skipped on the others. Its methods
// may be called from any goroutine.
type Locker struct {
	locks *zklock.Keyed
	limit time.Duration // of a try
}

// longestTry keeps a job from a start that is much too late, after an outage.
const longestTry = 10 * time.Second

// NewLocker returns a locker whose locks are those of a [zklock.Keyed] on path, with the jobs' names for
// keys. opts are theirs.
//
// A run keeps its job's lock for minHold at least, however short it is. That is what makes quick jobs
// run once: without it an instance whose clock is a little behind would find the lock free again, and
// run the job a second time. The instances' clocks, and the times at which they start a job, may differ
// by half of minHold. The next run of a job finds it taken if it comes before minHold is over: take
// less than the shortest interval of a job, by as much as the clocks may differ. For jobs that leave no
// room for that see [Locker.Every]. minHold must be more than 0.
//
// The locks stay for that long also when the scheduler has been shut down: [zklock.Session.Shutdown]
// waits for them, [zklock.Session.Close] ends them. An instance that dies while it has a lock keeps the
// job from the others until the servers have ended its session.
func NewLocker(s *zklock.Session, path string, minHold time.Duration, opts ...zklock.Option) (*Locker, error) {
	if minHold <= 0 {
		return nil, fmt.Errorf("zklockgocron: the least time of a hold is %v: it must be more than 0", minHold)
	}
	locks, err := zklock.NewKeyed(s, path, append(opts[:len(opts):len(opts)], zklock.WithMinHold(minHold))...)
	if err != nil {
		return nil, err
	}
	return &Locker{locks, min(minHold/2, longestTry)}, nil
}

// Lock takes the lock of job, and does not wait for another who has it: then its error is
// [zklock.ErrLocked], which says that the job is run elsewhere, and gocron skips it. It waits for the
// servers for half of the least time of a hold, and ten seconds at most; what fails then is another
// error, and the job is skipped, too. [gocron.AfterLockError] is told of both. When Lock fails it leaves
// nothing behind.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	hold, err := l.locks.TryAcquire(ctx, job)
	if err != nil {
		return nil, err
	}
	return lock{hold}, nil
}

// Every returns a locker for jobs with so little time between their runs that it is not enough for
// clocks that differ, or for the session of an instance that has died: jobs of every second, say. Each
// run has a lock of its own, by the job's name and the time of the run. So the clocks may differ by half
// of the least time of a hold, whatever the period is, and who dies takes its run along and no other.
//
// The time of a run is that of Lock, by now, rounded down to a multiple of period. (A timer may be a
// little early: what is short of a multiple by a tenth of period, or less, is rounded up.) So all have to
// say the same period, and the job's times have to be such multiples: those of a [gocron.CronJob] are; a
// [gocron.DurationJob] needs [gocron.WithStartAt]. Who starts late by more than nine tenths of a period
// takes the next run's lock, which then runs early, and once. now is [time.Now], or that of the clock
// that gocron was given by [gocron.WithClock].
//
// A run that takes longer than period does not keep the next one from another instance. A path of
// ZooKeeper is left of each run for a minute or two: see [zklock.Keyed].
func (l *Locker) Every(period time.Duration, now func() time.Time) (gocron.Locker, error) {
	switch {
	case period <= 0:
		return nil, fmt.Errorf("zklockgocron: the period is %v: it must be more than 0", period)
	case now == nil:
		return nil, errors.New("zklockgocron: the clock is nil: give it time.Now, if you have no other")
	}
	return runs{l, period, now}, nil
}

// runs is a locker of single runs.
type runs struct {
	of     *Locker
	period time.Duration
	now    func() time.Time
}

func (r runs) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	at := r.now().Add(r.period / 10).Truncate(r.period)
	return r.of.Lock(ctx, job+" "+at.UTC().Format(time.RFC3339Nano))
}

// lock is the lock of a run.
type lock struct{ hold *zklock.Hold }

// Unlock gives the lock back as soon as its least time is over. It returns at once if it is not over yet;
// otherwise it waits for ZooKeeper's confirmation. The lock is given back also when ctx has ended, as that
// of a job that was removed: then the error is ctx's, if there was no confirmation yet. That of a lock
// that was lost is [zklock.ErrLost].
func (l lock) Unlock(ctx context.Context) error { return l.hold.Release(ctx) }
