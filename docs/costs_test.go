package docs_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

const (
	path      = "/locks/ledger"
	roundTrip = 2 * time.Millisecond

	// settled is when the requests of an operation have come in. It is less than
	// the 20 ms after which a hold watches its own node.
	settled = 10 * time.Millisecond

	// calm is when what a hold does after its grant has been done, and the next
	// proof of it is far.
	calm = 100 * time.Millisecond
)

// bench is a server at a known distance, in virtual time, with two processes.
type bench struct {
	t      *testing.T
	server *zktest.Server
	one    *zklock.Session
	other  *zklock.Session
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, server: zktest.NewServer(t,
		zktest.WithLatency(roundTrip/2, roundTrip/2),
		zktest.WithSessionTimeouts(time.Second, time.Minute))}
	b.one, b.other = b.connect(), b.connect()
	return b
}

func (b *bench) connect() *zklock.Session {
	s, err := zklock.Connect(b.t.Context(), []string{b.server.PipeAddr()}, time.Minute, zklock.WithDialer(b.server.Dial))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { s.Close() })
	return s
}

// locker returns a lock, whose path exists.
func (b *bench) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	l, err := zklock.New(s, path, opts...)
	require.NoError(b.t, err)
	l.Lock()
	require.NoError(b.t, l.UnlockContext(b.t.Context()))
	time.Sleep(settled)
	return l
}

// cost is what an operation took: its requests, and for how many round trips the
// caller waited.
type cost struct{ requests, roundTrips string }

// measure returns what operation costs.
func (b *bench) measure(operation func()) cost {
	time.Sleep(calm)
	before, start := b.server.Requests(), time.Now()
	operation()
	waited := time.Since(start)
	time.Sleep(settled)
	var requests []string
	after := b.server.Requests()
	delete(after, zktest.OpPing) // which an idle client sends anyhow
	for _, op := range slices.Sorted(maps.Keys(after)) {
		if n := after[op] - before[op]; n > 1 {
			requests = append(requests, fmt.Sprintf("%d %s", n, op))
		} else if n == 1 {
			requests = append(requests, op.String())
		}
	}
	if len(requests) == 0 {
		requests = []string{"none"}
	}
	return cost{strings.Join(requests, ", "), fmt.Sprint(math.Round(float64(waited)/float64(roundTrip)*2) / 2)}
}

// operations are the rows of the table, by their first cell.
var operations = map[string]func(b *bench) cost{
	"`Lock`, the lock is free": func(b *bench) cost {
		return b.measure(b.locker(b.one).Lock)
	},
	"`Lock`, the first on a path two levels below the root": func(b *bench) cost {
		l, err := zklock.New(b.one, path)
		require.NoError(b.t, err)
		return b.measure(l.Lock)
	},
	"`Lock` by the owner again": func(b *bench) cost {
		l := b.locker(b.one)
		l.Lock()
		return b.measure(l.Lock)
	},
	"`Unlock`": func(b *bench) cost {
		l := b.locker(b.one)
		l.Lock()
		return b.measure(l.Unlock)
	},
	"`UnlockContext`, `Hold.Release`": func(b *bench) cost {
		l := b.locker(b.one)
		l.Lock()
		return b.measure(func() { require.NoError(b.t, l.UnlockContext(b.t.Context())) })
	},
	"`TryLock`, the lock is free": func(b *bench) cost {
		l := b.locker(b.one)
		return b.measure(func() { require.True(b.t, l.TryLock()) })
	},
	"`TryLock`, the lock is taken, for the first time in a minute": func(b *bench) cost {
		l := b.locker(b.one)
		b.locker(b.other).Lock()
		return b.measure(func() { require.False(b.t, l.TryLock()) })
	},
	"`TryLock`, the lock is taken, again": func(b *bench) cost {
		l := b.locker(b.one)
		b.locker(b.other).Lock()
		require.False(b.t, l.TryLock())
		return b.measure(func() { require.False(b.t, l.TryLock()) })
	},
	"standing in line behind one other": func(b *bench) cost {
		l := b.locker(b.one)
		b.locker(b.other).Lock()
		c := b.measure(func() { b.inLine(l) })
		return cost{c.requests, "-"}
	},
	"again, behind the same process": func(b *bench) cost {
		l, holder := b.locker(b.one), b.locker(b.other)
		holder.Lock()
		var took sync.WaitGroup
		took.Go(func() {
			l.Lock()
			defer l.Unlock()
		})
		time.Sleep(settled)
		holder.Unlock()
		took.Wait()
		holder.Lock()
		c := b.measure(func() { b.inLine(l) })
		return cost{c.requests, "-"}
	},
	"the lock passes to another process, from its `Unlock`": func(b *bench) cost {
		l, holder := b.locker(b.one), b.locker(b.other)
		holder.Lock()
		granted := b.inLine(l)
		return b.measure(func() {
			holder.Unlock()
			<-granted
		})
	},
	"the lock passes to another goroutine of the session, from its `Unlock`": func(b *bench) cost {
		l := b.locker(b.one)
		l.Lock()
		granted := b.inLine(l)
		return b.measure(func() {
			l.Unlock()
			<-granted
		})
	},
	"`Lock` and `Unlock` with `WithRetention`, the node was kept": func(b *bench) cost {
		l := b.locker(b.one, zklock.WithRetention(10*time.Second))
		require.True(b.t, l.TryLock())
		l.Unlock()
		return b.measure(func() {
			l.Lock()
			defer l.Unlock()
		})
	},
	"`RLock`, `RWLocker.Lock`, free": func(b *bench) cost {
		b.locker(b.one)
		l, err := zklock.NewRW(b.one, path)
		require.NoError(b.t, err)
		return b.measure(l.RLock)
	},
	"`Semaphore.Acquire` of n permits, free": func(b *bench) cost {
		s, err := zklock.NewSemaphore(b.one, path, 5)
		require.NoError(b.t, err)
		h, err := s.Acquire(b.t.Context(), 1)
		require.NoError(b.t, err)
		require.NoError(b.t, h.Release(b.t.Context()))
		time.Sleep(settled)
		return b.measure(func() {
			_, err := s.Acquire(b.t.Context(), 3)
			require.NoError(b.t, err)
		})
	},
	"`Inspect` of a queue of 3": func(b *bench) cost {
		l := b.locker(b.one)
		b.locker(b.other).Lock()
		b.inLine(l)
		b.inLine(l)
		return b.measure(func() {
			found, err := zklock.Inspect(b.t.Context(), b.one, path)
			require.NoError(b.t, err)
			require.Len(b.t, found, 3)
		})
	},
	"`Watch` of a queue of 3, the first list": func(b *bench) cost {
		b.queueOf(3)
		next, stop := iter.Pull2(zklock.Watch(b.t.Context(), b.other, path))
		b.t.Cleanup(stop)
		return b.measure(func() {
			found, err, _ := next()
			require.NoError(b.t, err)
			require.Len(b.t, found[0].Contenders, 3)
		})
	},
	"one more comes into that queue, and goes again": func(b *bench) cost {
		b.queueOf(3)
		go func() {
			for range zklock.Watch(context.WithoutCancel(b.t.Context()), b.other, path) {
			}
		}()
		time.Sleep(settled)
		c := b.measure(func() {
			node, err := b.one.Conn().Create(path+"/_c_one-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			require.NoError(b.t, err)
			time.Sleep(calm)
			require.NoError(b.t, b.one.Conn().Delete(node, -1))
		})
		return cost{c.requests, "-"}
	},
	"`membership.Join`": func(b *bench) cost {
		b.locker(b.one)
		return b.measure(func() { b.join(b.one) })
	},
	"`Member.Leave`": func(b *bench) cost {
		m := b.join(b.one)
		return b.measure(func() { require.NoError(b.t, m.Leave(b.t.Context())) })
	},
	"a member joins, 3 are there and 2 processes watch": func(b *bench) cost {
		b.watched(3, 2)
		c := b.measure(func() { b.join(b.one) })
		return cost{c.requests, "-"}
	},
	"`Member.Update`, 3 members and 2 processes that watch": func(b *bench) cost {
		m := b.watched(3, 2)
		c := b.measure(func() { require.NoError(b.t, m.Update(b.t.Context(), []byte("new"))) })
		return cost{c.requests, "-"}
	},
	"a member leaves, of 3 that 2 processes watch": func(b *bench) cost {
		m := b.watched(3, 2)
		c := b.measure(func() { require.NoError(b.t, m.Leave(b.t.Context())) })
		return cost{c.requests, "-"}
	},
	"2 processes watch 3 members of a third for a session timeout": func(b *bench) cost {
		b.watched(3, 2)
		time.Sleep(b.one.Timeout() / 2) // to between two looks
		c := b.measure(func() { time.Sleep(b.one.Timeout()) })
		return cost{c.requests, "-"}
	},
	"`membership.Watch`, the first list, of 3": func(b *bench) cost {
		for range 3 {
			b.join(b.one)
		}
		return b.measure(func() {
			for peers, err := range membership.Watch(b.t.Context(), b.other, path) {
				require.NoError(b.t, err)
				require.Len(b.t, peers, 3)
				break
			}
		})
	},
	"`Election.Campaign`, nobody leads": func(b *bench) cost {
		e := b.election(b.one)
		b.locker(b.one)
		return b.measure(func() { b.campaign(e) })
	},
	"`Term.Proclaim`, 2 processes observe": func(b *bench) cost {
		term := b.campaign(b.election(b.one))
		b.observed(2)
		return b.measure(func() { require.NoError(b.t, term.Proclaim(b.t.Context(), []byte("new"))) })
	},
	"`election.Observe`, the first state": func(b *bench) cost {
		b.campaign(b.election(b.one))
		return b.measure(func() {
			for _, err := range election.Observe(b.t.Context(), b.other, path) {
				require.NoError(b.t, err)
				break
			}
		})
	},
	"`Term.Resign`, nobody else is in line, and 2 processes observe": func(b *bench) cost {
		term := b.campaign(b.election(b.one))
		b.observed(2)
		return b.measure(func() { require.NoError(b.t, term.Resign(b.t.Context())) })
	},
	"2 processes observe a leader for an eighth of the session timeout": func(b *bench) cost {
		b.campaign(b.election(b.one))
		b.observed(2)
		c := b.measure(func() { time.Sleep(b.one.Timeout() / 8) })
		return cost{c.requests, "-"}
	},
}

func (b *bench) election(s *zklock.Session) *election.Election {
	e, err := election.New(s, path, election.WithValue([]byte("10.0.0.7:8080")))
	require.NoError(b.t, err)
	return e
}

func (b *bench) campaign(e *election.Election) *election.Term {
	term, err := e.Campaign(b.t.Context())
	require.NoError(b.t, err)
	return term
}

// observed has so many processes observe the election.
func (b *bench) observed(observers int) {
	for range observers {
		s := b.connect()
		go func() {
			for range election.Observe(context.WithoutCancel(b.t.Context()), s, path) {
			}
		}()
	}
	time.Sleep(settled)
}

// watched makes so many members, of which it returns one, and processes that watch
// them.
func (b *bench) watched(members, watchers int) (m *membership.Member) {
	for range members {
		m = b.join(b.one)
	}
	for range watchers {
		s := b.connect()
		go func() {
			for range membership.Watch(context.WithoutCancel(b.t.Context()), s, path) {
			}
		}()
	}
	time.Sleep(settled)
	return m
}

func (b *bench) join(s *zklock.Session) *membership.Member {
	m, err := membership.Join(b.t.Context(), s, path, nil)
	require.NoError(b.t, err)
	return m
}

// queueOf puts so many nodes into the queue.
func (b *bench) queueOf(n int) {
	b.locker(b.one)
	for range n {
		_, err := b.one.Conn().Create(path+"/_c_one-lock-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(b.t, err)
	}
}

// inLine has a goroutine lock l, and returns when it waits.
func (b *bench) inLine(l *zklock.Locker) (granted <-chan error) {
	done := make(chan error, 1)
	go func() { done <- l.LockContext(context.WithoutCancel(b.t.Context())) }()
	time.Sleep(settled)
	synctest.Wait()
	return done
}

var row = regexp.MustCompile(`(?m)^\| (.+?) \| (.+?) \| (.+?) \|$`)

func TestTheTableOfCostsIsTrue(t *testing.T) {
	page, err := os.ReadFile("costs.md")
	require.NoError(t, err)
	documented := make(map[string]cost)
	for _, m := range row.FindAllStringSubmatch(string(page), -1)[1:] {
		documented[m[1]] = cost{m[2], m[3]}
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := operation(newBench(t))
				require.Equal(t, documented[name], got, "| %s | %s | %s |", name, got.requests, got.roundTrips)
			})
		})
		delete(documented, name)
	}
	require.Empty(t, documented, "rows that no test measures")
}

func TestAHoldIsProvedEightTimesInASessionTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := b.locker(b.one)
		l.Lock()
		time.Sleep(time.Second)
		before := b.server.Requests()[zktest.OpMulti]
		time.Sleep(b.one.Timeout())
		require.InDelta(t, 8, b.server.Requests()[zktest.OpMulti]-before, 1)
		l.Unlock()
		time.Sleep(time.Second)
		before = b.server.Requests()[zktest.OpMulti]
		time.Sleep(b.one.Timeout())
		require.Equal(t, before, b.server.Requests()[zktest.OpMulti], "a session without a lock proves nothing")
	})
}
