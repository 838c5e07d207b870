package lock_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/zktest"
)

// tale is what a trace was told, in its order.
type tale struct {
	mu     sync.Mutex
	events []told
}

type told struct {
	what string
	zklock.TraceInfo
}

func (l *tale) note(what string) func(zklock.TraceInfo) {
	return func(i zklock.TraceInfo) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, told{what, i})
	}
}

func (l *tale) trace() *zklock.Trace {
	return &zklock.Trace{
		Enqueued: l.note("enqueued"), Acquired: l.note("acquired"), Failed: l.note("failed"), Released: l.note("released"),
		Suspended: l.note("suspended"), Resumed: l.note("resumed"), Lost: l.note("lost"),
	}
}

// take returns what was told since the last time, when all is quiet.
func (l *tale) take() []told {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// next is take of these events.
func (l *tale) next(t *testing.T, want string) []told {
	t.Helper()
	events := l.take()
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.what
	}
	require.Equal(t, want, strings.Join(names, " "))
	return events
}

type callKey struct{}

// requireHistory checks that the events are those of one call and one hold that was granted on
// a node of path.
func requireHistory(t *testing.T, path string, events []told) {
	t.Helper()
	var began time.Time
	last := events[len(events)-1]
	for _, e := range events {
		require.Equal(t, path, e.Path, e.what)
		require.Equal(t, "the call", e.Context.Value(callKey{}), e.what)
		switch e.what {
		case "enqueued":
			require.NoError(t, e.Err)
			continue // a semaphore's turn has another node
		case "acquired":
			began = e.Time
			require.Equal(t, events[0].Since, e.Since, "the call")
			require.False(t, e.Since.After(e.Time))
		default:
			require.Equal(t, began, e.Since, "the hold")
		}
		require.Equal(t, last.Node, e.Node, e.what)
		require.Equal(t, last.Token, e.Token, e.what)
		require.True(t, strings.HasPrefix(e.Node, path+"/"), e.Node)
		require.NotZero(t, e.Token)
	}
}

func (b *bubble) rw(s *zklock.Session, opts ...zklock.Option) *zklock.RWLocker {
	b.t.Helper()
	l, err := zklock.NewRW(s, b.path, opts...)
	require.NoError(b.t, err)
	return l
}

func (b *bubble) semaphore(s *zklock.Session, size int, opts ...zklock.Option) *zklock.Semaphore {
	b.t.Helper()
	sem, err := zklock.NewSemaphore(s, b.path, size, opts...)
	require.NoError(b.t, err)
	return sem
}

func TestTheTraceTellsOfACallAndItsHold(t *testing.T) {
	type use = func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error
	release := func(ctx context.Context, h *zklock.Hold, err error) error {
		if err != nil {
			return err
		}
		return h.Release(ctx)
	}
	for name, use := range map[string]use{
		"LockContext": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			l := b.locker(s, trace)
			defer l.Unlock()
			return l.LockContext(ctx)
		},
		"LockContext, twice": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			l := b.locker(s, trace)
			require.NoError(b.t, l.LockContext(ctx))
			defer l.Unlock()
			require.NoError(b.t, l.LockContext(ctx))
			defer l.Unlock()
			require.ErrorIs(b.t, l.LockContext(done()), context.Canceled, "no call for the lock")
			return nil
		},
		"TryLockFor": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			l := b.locker(s, trace)
			_, err := l.TryLockFor(ctx, time.Second)
			defer l.Unlock()
			return err
		},
		"Do": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			return b.locker(s, trace).Do(ctx, func(context.Context) error { return nil })
		},
		"TryAcquire": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			h, err := b.locker(s, trace).TryAcquire(ctx)
			return release(ctx, h, err)
		},
		"RAcquire": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			h, err := b.rw(s, trace).RAcquire(ctx)
			return release(ctx, h, err)
		},
		"TryRAcquire": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			h, err := b.rw(s, trace).TryRAcquire(ctx)
			return release(ctx, h, err)
		},
		"Semaphore.Acquire": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			h, err := b.semaphore(s, 3, trace).Acquire(ctx, 2)
			return release(ctx, h, err)
		},
		"Semaphore.TryAcquire": func(ctx context.Context, b *bubble, s *zklock.Session, trace zklock.Option) error {
			h, err := b.semaphore(s, 3, trace).TryAcquire(ctx, 2)
			return release(ctx, h, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var tale tale
				ctx := context.WithValue(t.Context(), callKey{}, "the call")
				require.NoError(t, use(ctx, b, b.session("owner"), zklock.WithTrace(tale.trace())))
				requireHistory(t, b.path, tale.next(t, "enqueued acquired released"))
			})
		})
	}
}

func TestOwnersThatShareANodeAreToldOfWithoutAQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		ctx := context.WithValue(t.Context(), callKey{}, "the call")
		l := b.locker(b.session("owner"), zklock.WithHandoff(10), zklock.WithRetention(time.Minute), zklock.WithTrace(tale.trace()))
		first, err := l.Acquire(ctx)
		require.NoError(t, err)
		tale.next(t, "enqueued acquired")
		granted := make(chan grant, 1)
		b.ask(ctx, "second", l, granted)
		time.Sleep(time.Second)
		require.NoError(t, first.Release(ctx))
		second := b.next(granted)
		events := tale.next(t, "released acquired") // or the other way round, elsewhere
		require.Equal(t, events[0].Node, events[1].Node)
		require.Equal(t, time.Second, events[1].Time.Sub(events[1].Since), "the wait for the first owner")
		require.NoError(t, second.Release(ctx))
		tale.next(t, "released")

		require.NoError(t, l.LockContext(ctx))
		time.Sleep(time.Second)
		l.Unlock()
		events = tale.next(t, "acquired released")
		requireHistory(t, b.path, events)
		require.Zero(t, events[0].Time.Sub(events[0].Since))
		require.Equal(t, time.Second, events[1].Time.Sub(events[1].Since))
	})
}

func TestAReaderOfADowngradeIsToldOfWithoutAQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		ctx := context.WithValue(t.Context(), callKey{}, "the call")
		l := b.rw(b.session("owner"), zklock.WithTrace(tale.trace()))
		require.NoError(t, l.LockContext(ctx))
		writer := tale.next(t, "enqueued acquired")
		require.NoError(t, l.RLockContext(ctx))
		reader := tale.next(t, "acquired")
		l.Unlock()
		requireHistory(t, b.path, append(writer, tale.next(t, "released")...))
		l.RUnlock()
		requireHistory(t, b.path, append(reader, tale.next(t, "released")...))
	})
}

func TestTheTraceCountsTheReadersAheadOfAReadersWriter(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var queue tale
		for i, acquire := range []func(*zklock.RWLocker, context.Context) (*zklock.Hold, error){
			(*zklock.RWLocker).RAcquire, (*zklock.RWLocker).RAcquire, (*zklock.RWLocker).Acquire, (*zklock.RWLocker).RAcquire,
		} {
			rw := b.rw(b.session(fmt.Sprint(i)), zklock.WithTrace(&zklock.Trace{Enqueued: queue.trace().Enqueued}))
			go acquire(rw, t.Context())
			time.Sleep(time.Second)
		}
		var ahead []int
		for _, e := range queue.next(t, "enqueued enqueued enqueued enqueued") {
			ahead = append(ahead, e.Ahead)
		}
		require.Equal(t, []int{0, 0, 2, 3}, ahead)
	})
}

// A waiter whose place is lost stands in the queue again, and its wait goes on.
func TestAPlaceThatWasLostIsToldByTheNextOne(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		holder := b.locker(b.session("holder"))
		holder.Lock()
		s := b.session("waiter")
		granted := make(chan grant, 1)
		b.ask(t.Context(), "waiter", b.locker(s, zklock.WithTrace(tale.trace())), granted)
		time.Sleep(time.Second)
		require.True(t, b.server.ExpireSession(s.ID()))
		time.Sleep(time.Second)
		events := tale.next(t, "enqueued enqueued")
		require.NotEqual(t, events[0].Node, events[1].Node)
		require.Equal(t, events[0].Since, events[1].Since)
		holder.Unlock()
		g := b.next(granted)
		acquired := tale.next(t, "acquired")[0]
		require.Equal(t, events[0].Since, acquired.Since)
		require.Equal(t, g.Node(), acquired.Node)
		require.NoError(t, g.Release(t.Context()))
	})
}

func TestASuspensionIsToldBeforeItsEndAndTheLossLast(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		ctx := context.WithValue(t.Context(), callKey{}, "the call")
		s := b.session("owner")
		l := b.locker(s, zklock.WithTrace(tale.trace()))
		require.NoError(t, l.LockContext(ctx))
		events := tale.next(t, "enqueued acquired")
		time.Sleep(time.Second)
		b.server.Refuse(true)
		b.server.Cut()
		events = append(events, tale.next(t, "suspended")...)
		requireHistory(t, b.path, events)
		time.Sleep(time.Second)
		b.server.Refuse(false)
		time.Sleep(3 * time.Second)
		resumed := tale.next(t, "resumed")[0]
		require.Equal(t, events[2].Time, resumed.Since, "the suspension")
		require.GreaterOrEqual(t, resumed.Time.Sub(resumed.Since), time.Second)
		require.NoError(t, resumed.Err)

		b.server.Refuse(true)
		b.server.Cut()
		<-l.Lost()
		lost := tale.next(t, "suspended lost")
		requireHistory(t, b.path, append(events, lost...))
		require.Error(t, lost[1].Err)
		l.Unlock()
		tale.next(t, "")
		b.server.Refuse(false)
		time.Sleep(longSession)
		tale.next(t, "")
	})
}

// A hold that is handed over while there is no connection has not been suspended.
func TestOnlyWhatWasSuspendedIsResumed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var first, second tale
		s := b.session("owner")
		holder := b.locker(s, zklock.WithTrace(first.trace()))
		holder.Lock()
		granted := make(chan grant, 1)
		b.ask(t.Context(), "second", b.locker(s, zklock.WithTrace(second.trace())), granted)
		b.server.Refuse(true)
		b.server.Cut()
		synctest.Wait()
		holder.Unlock()
		first.next(t, "enqueued acquired suspended released")
		g := b.next(granted)
		second.next(t, "enqueued acquired")
		b.server.Refuse(false)
		time.Sleep(3 * time.Second)
		require.NoError(t, g.Release(t.Context()))
		second.next(t, "released")
	})
}

// The other hold has not been confirmed since the connection before.
func TestAHoldThatBeganWithoutAConnectionIsToldOfTheLossOfTheNext(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var first, second tale
		s := b.session("owner")
		holder := b.locker(s, zklock.WithTrace(first.trace()))
		holder.Lock()
		b.path = "/kept"
		kept := b.locker(s, zklock.WithTrace(second.trace()), zklock.WithRetention(time.Minute))
		kept.Lock()
		kept.Unlock() //lint:ignore SA2001 its node is kept
		b.server.Refuse(true)
		b.server.Cut()
		synctest.Wait()
		kept.Lock()
		first.next(t, "enqueued acquired suspended")
		second.next(t, "enqueued acquired released acquired")
		b.server.HoldRequest(zktest.OpMulti)
		b.server.Refuse(false)
		time.Sleep(time.Second)
		b.server.Refuse(true)
		b.server.Cut()
		synctest.Wait()
		first.next(t, "")
		second.next(t, "suspended")
		b.server.Refuse(false)
		time.Sleep(longSession / 4)
		first.next(t, "resumed")
		second.next(t, "resumed")
	})
}

// The session ends while the trace is still being told of the grant.
func TestAHoldIsToldToHaveBegunBeforeItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var tale tale
		s := b.session("owner")
		trace := tale.trace()
		acquired, first := trace.Acquired, true
		trace.Acquired = func(i zklock.TraceInfo) {
			if first {
				require.True(t, b.server.ExpireSession(s.ID()))
				time.Sleep(longSession)
			}
			first = false
			acquired(i)
		}
		l := b.locker(s, zklock.WithTrace(trace))
		l.Lock()
		tale.next(t, "enqueued acquired suspended lost enqueued acquired")
		l.Unlock()
	})
}

// An owner that gave it back would hear that it was released.
func TestADowngradeWhoseSessionIsClosedWhileItsTraceIsToldSaysSo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		var closed <-chan error
		grants := 0
		l := b.rw(s, zklock.WithTrace(&zklock.Trace{Acquired: func(zklock.TraceInfo) {
			if grants++; grants == 2 {
				closed = begin(s.Close)
				<-s.Closed()
			}
		}}))
		l.Lock()
		require.ErrorIs(t, l.RLockContext(t.Context()), zklock.ErrClosed)
		require.NoError(t, <-closed)
	})
}

// Owners that share a node might hand it to a call whose ctx has ended.
func TestACallWhoseLockAndTimeEndWhileItsTraceIsToldGetsNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		ctx, cancel := context.WithCancel(t.Context())
		var l *zklock.Locker
		trace := &zklock.Trace{}
		l = b.locker(s, zklock.WithTrace(trace), zklock.WithRetention(time.Hour))
		grants := 0
		trace.Acquired = func(zklock.TraceInfo) {
			if grants++; grants > 1 {
				return
			}
			require.True(t, b.server.ExpireSession(s.ID()))
			cancel()
			time.Sleep(longSession)
			elsewhere(func() { require.NoError(t, l.Do(t.Context(), nothing)) })
		}
		h, err := l.Acquire(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Nil(t, h)
	})
}

// A function of the trace may take longer than the lease: who exports spans waits for a network.
func TestACallWhoseLockIsLostWhileItsTraceIsToldGetsItAgain(t *testing.T) {
	const kept, lost = "enqueued acquired suspended lost enqueued acquired", "enqueued acquired acquired suspended lost suspended lost failed"
	for name, c := range map[string]struct {
		tale string
		take func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error)
	}{
		"LockContext": {kept, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			l := b.locker(s, traced)
			err := l.LockContext(ctx)
			return l.Held(), err
		}},
		"TryLock": {kept, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			l := b.locker(s, traced)
			_, err := l.TryLockFor(ctx, 0)
			return l.Held(), err
		}},
		"Acquire": {kept, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			return b.locker(s, traced).Acquire(ctx)
		}},
		"TryAcquire": {kept, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			return b.locker(s, traced, zklock.WithHandoff(2)).TryAcquire(ctx)
		}},
		"permits": {kept, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			return b.semaphore(s, 2, traced).Acquire(ctx, 2)
		}},
		"downgrade": {lost, func(ctx context.Context, b *bubble, s *zklock.Session, traced zklock.Option) (*zklock.Hold, error) {
			l := b.rw(s, traced)
			l.Lock()
			return l.RHeld(), l.RLockContext(ctx)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var tale tale
				s := b.session("owner")
				trace := tale.trace()
				acquired, expires := trace.Acquired, 1
				if name == "downgrade" {
					expires = 2 // the first is the writer's
				}
				trace.Acquired = func(i zklock.TraceInfo) {
					acquired(i)
					if expires--; expires == 0 {
						require.True(t, b.server.ExpireSession(s.ID()))
						time.Sleep(longSession)
					}
				}
				h, err := c.take(aMinute(t), b, s, zklock.WithTrace(trace))
				if c.tale == lost {
					require.ErrorIs(t, err, zklock.ErrLost)
				} else {
					require.NoError(t, err)
					require.True(t, h.Valid())
				}
				tale.next(t, c.tale)
			})
		})
	}
}

func TestALockWithoutATracePaysNothingForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		cycle := func(opts ...zklock.Option) float64 {
			b.path += "x"
			l := b.locker(s, append(opts, zklock.WithRetention(time.Minute))...) // no requests
			return testing.AllocsPerRun(100, func() {
				l.Lock()
				_ = l.HoldCount()
				l.Unlock()
			})
		}
		plain, traced := cycle(), cycle(zklock.WithTrace(&zklock.Trace{}))
		t.Log("allocations of a cycle:", plain, "and with an empty trace:", traced)
		require.LessOrEqual(t, plain, 4.)
		require.Equal(t, plain+2, traced, "the call and the history")
	})
}

func TestTheLogTellsOfEachLockThatIsAcquiredAtDebug(t *testing.T) {
	for name, lock := range map[string]func(b *bubble, s *zklock.Session) *zklock.Hold{
		"a lock":          func(b *bubble, s *zklock.Session) *zklock.Hold { return must(b.locker(s).Acquire(b.t.Context())) },
		"a try":           func(b *bubble, s *zklock.Session) *zklock.Hold { return must(b.locker(s).TryAcquire(b.t.Context())) },
		"a reader's lock": func(b *bubble, s *zklock.Session) *zklock.Hold { return must(b.rw(s).RAcquire(b.t.Context())) },
		"permits": func(b *bubble, s *zklock.Session) *zklock.Hold {
			return must(b.semaphore(s, 2).Acquire(b.t.Context(), 2))
		},
		"a kept node": func(b *bubble, s *zklock.Session) *zklock.Hold {
			return must(b.locker(s, zklock.WithRetention(time.Minute)).Acquire(b.t.Context()))
		},
	} {
		for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					var log lockedBuffer
					s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial),
						zklock.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level})))))
					defer s.Close()
					h := lock(b, s)
					synctest.Wait()
					told := fmt.Sprintf(`level=DEBUG msg="zklock: lock acquired" path=%s node=%s session=%s`, b.path, h.Node(), client.Hex(s.ID()))
					want := map[slog.Level]int{slog.LevelDebug: 1}[level]
					require.Equal(t, want, strings.Count(log.String(), "lock acquired"), log.String())
					require.Equal(t, want, strings.Count(log.String(), told), log.String())
				})
			})
		}
	}
}

func TestLocksKnowTheirPaths(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		for _, l := range []interface{ Path() string }{b.locker(s), b.rw(s), b.semaphore(s, 1)} {
			require.Equal(t, b.path, l.Path())
		}
	})
}

func TestATraceOfAMultiLockersCallHasTheContextOfTheCall(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var l tale
		s := b.session("owner")
		lockers := (&site{t: t, path: b.path}).lockers(s, 1)
		last, err := zklock.New(s, b.path+"/last", zklock.WithTrace(l.trace()))
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		h, err := must(zklock.NewMulti(append(lockers, last)...)).Acquire(ctx)
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context()))
		cancel()
		for _, e := range l.next(t, "enqueued acquired released") {
			require.Error(t, e.Context.Err())
			require.True(t, isClosed(e.Context.Done()), "it ends with the call's")
		}
	})
}

func TestTheTraceTellsThatACloseLosesWhatIsHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, log := b.session("mine"), new(tale)
		b.locker(s, zklock.WithTrace(log.trace())).Lock()
		log.take()
		require.NoError(t, s.Close())
		lost := log.next(t, "lost")
		require.ErrorIs(t, lost[0].Err, zklock.ErrClosed)
	})
}
