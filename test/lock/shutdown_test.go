package lock_test

import (
	"context"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// Who waits on Lost alone hears of a Close too, and before anybody else can have the lock.
func TestCloseTellsEveryHolderOfItsLossBeforeTheNodesGo(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		var lost <-chan struct{}
		var gone atomic.Int64
		err := do(t.Context(), func(ctx context.Context) error {
			h := zklock.HoldFrom(ctx)
			lost = h.Lost()
			b.server.Observe(func(txn zktest.Txn) {
				for _, change := range txn.Changes {
					if change.Kind == zktest.NodeDeleted {
						gone.Add(1)
						assert.True(t, isClosed(lost) && isClosed(ctx.Done()), "%s goes before its holder is told", change.Path)
					}
				}
			})
			require.NoError(t, s.Close())
			for _, err := range []error{h.Err(), context.Cause(ctx), h.Release(t.Context())} {
				require.ErrorIs(t, err, zklock.ErrLost)
				require.ErrorIs(t, err, zklock.ErrClosed)
			}
			require.False(t, h.Valid())
			return nil
		})
		require.ErrorIs(t, err, zklock.ErrLost)
		require.NotZero(t, gone.Load())
		require.Empty(t, b.server.Sessions())
	})
}

// busy is st of a caller whose session has another lock, too.
func busy(st state) state {
	return state{before: func(sc *scene) {
		must(must(zklock.New(sc.mine.Session, statesPath+"other")).Acquire(sc.ctx))
		st.before(sc)
	}}
}

// shutDown begins the end of the caller's session.
func shutDown(sc *scene) {
	go func() { _ = sc.mine.Shutdown(context.Background()) }()
	synctest.Wait()
}

// Whoever holds the lock goes on, and nobody else gets it, be it before or after that they ask.
func TestWhatTheCallsComeToWhileTheSessionIsBeingShutDown(t *testing.T) {
	for _, options := range [][]zklock.Option{nil, {zklock.WithHandoff(4), zklock.WithRetention(time.Minute)}} {
		statesTable{options, map[string]state{
			"free": busy(free).then(shutDown), "mine": busy(mine).then(shutDown), "twice": busy(mine.then(mine.before)).then(shutDown),
			"another's": busy(another).then(shutDown), "theirs": busy(theirs).then(shutDown), "kept": busy(mine.then(func(sc *scene) { sc.mine.lock.Unlock() })).then(shutDown),
			"another's, later": busy(another).until(shutDown), "theirs, later": busy(theirs).until(shutDown),
		}, lockerCalls, `
			call          | free      | mine   | twice  | another's | theirs    | kept      | another's, later | theirs, later
			Lock          | !closed   | ok     | ok     | !closed   | !closed   | !closed   | !closed          | !closed
			LockContext   | closed    | ok     | ok     | closed    | closed    | closed    | closed           | closed
			TryLock       | false     | true   | true   | false     | false     | false     | false            | false
			TryLockFor    | closed    | true   | true   | closed    | closed    | closed    | false            | false
			Acquire       | closed    | closed | closed | closed    | closed    | closed    | closed           | closed
			TryAcquire    | closed    | closed | closed | closed    | closed    | closed    | locked           | locked
			Do            | closed    | closed | closed | closed    | closed    | closed    | closed           | closed
			Unlock        | !not held | ok     | ok     | !not held | !not held | !not held | !not held        | !not held
			UnlockContext | not held  | ok     | ok     | not held  | not held  | not held  | not held         | not held
			Held          | nil       | held   | held   | nil       | nil       | nil       | nil              | nil
			Lost          | closed    | open   | open   | closed    | closed    | closed    | closed           | closed
		`}.run(t)
	}
	statesTable{nil, map[string]state{"another's lost, later": busy(another.then(expire)).until(shutDown)}, lockerCalls, `
		call        | another's lost, later
		Lock        | !closed
		LockContext | closed
		Do          | closed
	`}.run(t)
	statesTable{nil, map[string]state{
		"reads": busy(reads).then(shutDown), "writes": busy(writes).then(shutDown), "both": busy(readsAndWrite).then(shutDown), "they write, later": busy(theyWrite).until(shutDown),
	}, rwCalls, `
		call         | reads    | writes | both   | they write, later
		Lock         | !upgrade | ok     | ok     | !closed
		RLock        | ok       | ok     | ok     | !closed
		RLockContext | ok       | ok     | ok     | closed
		TryRLock     | true     | true   | true   | false
		RAcquire     | closed   | closed | closed | closed
	`}.run(t)
	statesTable{nil, map[string]state{
		"all": busy(all).then(shutDown), "one": busy(one).then(shutDown), "the last is theirs, later": busy(theirLast).until(shutDown),
	}, multiCalls, `
		call                    | all | one    | the last is theirs, later
		LockContext             | ok  | closed | closed
		LockContext, HoldCounts | 222 | 010    | 000
		UnlockContext           | ok  | not held | not held
	`}.run(t)
	statesTable{nil, map[string]state{
		"free": busy(free).then(shutDown), "mine 1": busy(permits(me, 1)).then(shutDown), "theirs 2, later": busy(permits(them, 2)).until(shutDown),
		"a line, later": busy(permits(them, 1).then(line)).until(shutDown),
	}, semaphoreCalls, `
		call         | free   | mine 1 | theirs 2, later | a line, later
		Acquire 1    | closed | closed | closed          | closed
		TryAcquire 1 | closed | closed | locked          | locked
	`}.run(t)
}

// A node that stays has Shutdown wait, and the session, for a connection that does not come.
func TestWhoWaitsWithoutAConnectionHearsOfAShutdown(t *testing.T) {
	for name, wait := range map[string]func(b *bubble, s *zklock.Session) error{
		"for a lock": func(b *bubble, s *zklock.Session) error { return b.locker(s).LockContext(context.Background()) },
		"for a try":  func(b *bubble, s *zklock.Session) error { return errOf(b.locker(s).TryAcquire(context.Background())) },
		"for a permit": func(b *bubble, s *zklock.Session) error {
			return errOf(must(zklock.NewSemaphore(s, "/sem", 1)).Acquire(context.Background(), 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s, theirs := b.session("mine"), b.session("theirs")
				must(b.locker(theirs).Acquire(t.Context()))
				must(must(zklock.NewSemaphore(theirs, "/sem", 1)).Acquire(t.Context(), 1))
				kept := must(zklock.New(s, "/kept", zklock.WithMinHold(time.Hour)))
				require.NoError(t, must(kept.Acquire(t.Context())).Release(t.Context()))
				cut := func() {
					b.server.Refuse(true)
					b.server.CutSession(s.ID())
					synctest.Wait()
				}
				if name == "for a try" {
					cut()
				}
				got := begin(func() error { return wait(b, s) })
				time.Sleep(time.Second)
				cut()
				time.Sleep(time.Second)
				require.Empty(t, got)
				began := time.Now()
				go func() { _ = s.Shutdown(context.Background()) }()
				require.ErrorIs(t, <-got, zklock.ErrClosed)
				require.Less(t, time.Since(began), time.Second)
			})
		})
	}
}

func TestShutdownReturnsWhenWhatIsHeldHasBeenGivenBack(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		var began time.Time
		over := make(chan error, 1)
		require.NoError(t, do(t.Context(), func(ctx context.Context) error {
			h := zklock.HoldFrom(ctx)
			go func() { over <- s.Shutdown(t.Context()) }()
			time.Sleep(10 * longSession)
			require.Empty(t, over)
			require.True(t, h.Valid())
			require.NoError(t, ctx.Err())
			require.Contains(t, b.server.Children(path.Dir(h.Node())), path.Base(h.Node()))
			require.False(t, isClosed(s.Closed()))
			began = time.Now()
			return nil
		}), "its release is confirmed")
		require.NoError(t, <-over)
		require.Less(t, time.Since(began), time.Second)
		require.True(t, isClosed(s.Closed()))
		require.Empty(t, b.server.Sessions())
		require.NoError(t, s.Shutdown(t.Context()), "again")
		require.NoError(t, s.Close())
	})
}

func TestAShutdownWhoseContextEndsLosesWhatIsHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		h := must(b.locker(s).Acquire(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.server.Client("mine").Block(zktest.ToServer) // so that Close takes seconds
		began := time.Now()
		err := s.Shutdown(ctx)
		require.LessOrEqual(t, time.Since(began), time.Second+50*time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Regexp(t, `^zklock: shutdown session 0x[0-9a-f]+: context deadline exceeded: 1 of its locks were still held, such as /lock$`, err.Error())
		require.True(t, isClosed(h.Lost()))
		require.ErrorIs(t, h.Err(), zklock.ErrClosed)
		require.ErrorContains(t, s.Close(), "no server confirmed it")
	})
}

// Who has the turn to take permits holds nothing yet.
func TestAShutdownWhoseContextEndsCountsWhatIsHeldAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		sem := must(zklock.NewSemaphore(s, b.path, 2))
		must(sem.Acquire(t.Context(), 2))
		waits := begin(func() error { return errOf(sem.Acquire(context.Background(), 1)) })
		synctest.Wait()
		require.ErrorContains(t, s.Shutdown(done()), ": 1 of its locks were still held, such as /lock")
		require.ErrorIs(t, <-waits, zklock.ErrClosed)
	})
}

// What only stays for a while is waited for, what is kept for an owner to come, or lost, is not.
func TestWhatAShutdownWaitsFor(t *testing.T) {
	const stay = 5 * time.Second
	for name, c := range map[string]struct {
		options []zklock.Option
		end     func(*bubble, *zklock.Session, *zklock.Hold)
		waits   time.Duration
	}{
		"nothing":        {nil, func(_ *bubble, _ *zklock.Session, h *zklock.Hold) { _ = h.Release(context.Background()) }, 0},
		"a minimum":      {[]zklock.Option{zklock.WithMinHold(stay)}, func(_ *bubble, _ *zklock.Session, h *zklock.Hold) { _ = h.Release(context.Background()) }, stay},
		"a node kept":    {[]zklock.Option{zklock.WithRetention(stay)}, func(_ *bubble, _ *zklock.Session, h *zklock.Hold) { _ = h.Release(context.Background()) }, 0},
		"a lost hold":    {nil, func(b *bubble, _ *zklock.Session, h *zklock.Hold) { b.lose(h) }, 0},
		"a lost session": {nil, func(b *bubble, s *zklock.Session, h *zklock.Hold) { b.server.ExpireSession(s.ID()); <-h.Lost() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("mine")
				h := must(b.locker(s, c.options...).Acquire(t.Context()))
				c.end(b, s, h)
				began := time.Now()
				require.NoError(t, s.Shutdown(aMinute(t)))
				took := time.Since(began)
				require.True(t, took > c.waits-time.Second && took < c.waits+time.Second, took)
				require.Empty(t, b.server.Sessions())
			})
		})
	}
}

func TestAShutdownThatWouldWaitForItselfLeavesTheSessionOpen(t *testing.T) {
	forEachWay(t, func(t *testing.T, b *bubble, s *zklock.Session, do func(context.Context, func(context.Context) error) error) {
		require.NoError(t, do(t.Context(), func(ctx context.Context) error {
			require.ErrorIs(t, s.Shutdown(ctx), zklock.ErrDeadlock)
			return nil
		}))
		require.NoError(t, do(t.Context(), nothing))
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestACloseEndsAShutdown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		h := must(b.locker(s).Acquire(t.Context()))
		over := begin(func() error { return s.Shutdown(context.Background()) })
		synctest.Wait()
		require.NoError(t, s.Close())
		require.NoError(t, <-over)
		require.ErrorIs(t, h.Err(), zklock.ErrLost)
	})
}

// Nobody is in the way of other processes while the last holder works on: what waits has left, and
// what is kept is given up.
func TestAShutdownLeavesNoPlaceInAnyQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, other := b.session("mine"), b.session("other")
		busy := must(must(zklock.New(s, "/busy")).Acquire(t.Context()))
		kept := must(zklock.New(s, "/kept", zklock.WithRetention(time.Hour)))
		require.NoError(t, kept.Do(t.Context(), nothing))
		blocker := must(b.locker(other).Acquire(t.Context()))
		var ended []<-chan error
		for _, l := range []*zklock.Locker{b.locker(s), b.locker(s, zklock.WithHandoff(4)), b.locker(s, zklock.WithHandoff(4), zklock.WithRetention(time.Hour))} {
			for range 3 {
				ended = append(ended, begin(func() error { return errOf(l.Acquire(context.Background())) }))
			}
		}
		synctest.Wait()
		over := begin(func() error { return s.Shutdown(context.Background()) })
		for _, call := range ended {
			require.ErrorIs(t, <-call, zklock.ErrClosed)
		}
		synctest.Wait()
		var left []string
		for _, node := range b.ephemerals() {
			left = append(left, path.Dir(node))
		}
		require.ElementsMatch(t, []string{"/busy", b.path}, left, "the holder's, and the other process's")
		require.NoError(t, blocker.Release(t.Context()))
		require.NoError(t, busy.Release(t.Context()))
		require.NoError(t, <-over)
	})
}

// Who waits for a connection to ask for a lock is refused without one.
func TestAShutdownWithoutAConnectionRefusesWhoeverAsksForALock(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		h := must(b.locker(s).Acquire(t.Context()))
		b.server.Refuse(true)
		b.server.Cut()
		time.Sleep(time.Second)
		other := must(zklock.New(s, "/other"))
		ask := func() error { return errOf(other.Acquire(context.Background())) }
		before := begin(ask)
		synctest.Wait()
		began := time.Now()
		go func() { _ = s.Shutdown(context.Background()) }()
		require.ErrorIs(t, <-before, zklock.ErrClosed)
		require.ErrorIs(t, ask(), zklock.ErrClosed)
		require.ErrorIs(t, errOf(other.TryAcquire(context.Background())), zklock.ErrClosed)
		require.Zero(t, time.Since(began))
		require.NoError(t, h.Err(), "the holder goes on")
		b.server.Refuse(false)
	})
}

// A holder of a shared node gives it to nobody of a session that is being shut down.
func TestAnOwnerThatLeavesDuringAShutdownHandsTheLockToNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l := b.locker(s, zklock.WithHandoff(4), zklock.WithRetention(time.Hour))
		granted := make(chan grant, 3)
		for range 3 {
			b.ask(t.Context(), "-", l, granted)
		}
		first := b.next(granted)
		over := begin(func() error { return s.Shutdown(context.Background()) })
		for range 2 {
			require.ErrorIs(t, (<-granted).err, zklock.ErrClosed)
		}
		began := time.Now()
		require.NoError(t, first.Release(t.Context()))
		require.NoError(t, <-over)
		require.Less(t, time.Since(began), time.Second, "nor is it kept")
		require.Zero(t, b.queue())
	})
}

func TestTheLossByCloseSaysWhatItWas(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var log strings.Builder
		s := b.session("mine", zklock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		h := must(b.locker(s).Acquire(t.Context()))
		ended := begin(func() error { return errOf(b.locker(s).Acquire(context.Background())) })
		synctest.Wait()
		require.NoError(t, s.Close())
		<-ended
		require.EqualError(t, h.Err(), "zklock: lock was lost: session is closed")
		require.Contains(t, log.String(), `msg="zklock: lock lost" path=/lock`)
		require.Equal(t, 1, strings.Count(log.String(), "lock lost"), "who waits has lost nothing")
		require.Contains(t, log.String(), `cause="zklock: session is closed"`)
	})
}
