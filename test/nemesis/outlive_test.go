package nemesis

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

const longTimeout = 10 * time.Second

var measure = flag.Bool("measure", false, "run the tests that measure rather than judge")

// inOrder offers servers in the order in which they are given.
type inOrder struct {
	servers []string
	next    int
}

func (o *inOrder) Init([]string) error { return nil } // go-zookeeper has shuffled those
func (o *inOrder) Len() int            { return len(o.servers) }
func (o *inOrder) Connected()          {}

func (o *inOrder) Next() (server string, retryStart bool) {
	server = o.servers[o.next%len(o.servers)]
	o.next++
	return server, false
}

// subject is a hold in a session at a follower.
type subject struct {
	session *zklock.Session
	hold    *zklock.Hold
	resumed chan struct{} // gets a value when a server has confirmed the session again
	home    *apachezk.Server
	leader  *apachezk.Server
}

// newSubject takes a lock at the first of the followers. Its client knows the other
// servers in random order.
func newSubject(t *testing.T, c *Cluster, timeout time.Duration) *subject {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	s := &subject{resumed: make(chan struct{}, 16), home: followers[0], leader: leader}
	servers := []string{followers[0].Addr(), followers[1].Addr(), leader.Addr()}
	if rand.IntN(2) == 0 {
		slices.Reverse(servers[1:])
	}
	s.session = connect(t, timeout, servers, zklock.WithHostProvider(&inOrder{servers: servers}))
	require.Equal(t, s.home.Addr(), s.session.Conn().Server())
	s.hold = acquireLock(t, s.session, fmt.Sprintf("/subject-%d", next.Add(1)), zklock.WithTrace(&zklock.Trace{
		Resumed: func(zklock.TraceInfo) { s.resumed <- struct{}{} },
	}))
	return s
}

// faultsOfOneServer are those that a hold outlives.
var faultsOfOneServer = map[string]func(*subject) error{
	"its follower hangs":     func(s *subject) error { return s.home.Pause() },
	"its follower is killed": func(s *subject) error { s.home.Kill(); return nil },
	"the leader is killed":   func(s *subject) error { s.leader.Kill(); return nil },
	"the leader hangs":       func(s *subject) error { return s.leader.Pause() },
}

func TestAHoldOutlivesTheFaultOfOneServer(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	for fault, inject := range faultsOfOneServer {
		t.Run(fault, func(t *testing.T) {
			s := newSubject(t, c, longTimeout)
			t.Cleanup(func() { require.NoError(t, c.Heal()) })
			require.NoError(t, inject(s))
			began := Now()
			select {
			case <-s.resumed:
			case <-s.hold.Lost():
				require.Fail(t, "the hold was lost", "%v after %s", Since(began), fault)
			}
			took := Since(began)
			require.True(t, s.hold.Valid())
			require.False(t, isClosed(s.hold.Lost()))
			t.Logf("%s: the session was confirmed again after %v", fault, took.Round(10*time.Millisecond))
		})
	}
}

func TestALeaderThatHangsForTheWholeLeaseCostsTheHold(t *testing.T) {
	breaksServers(t)
	c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 25 })
	s := newSubject(t, c, shortTimeout)
	require.NoError(t, s.leader.Pause())
	receive(t, s.hold.Lost(), "the lease to end")
	require.NoError(t, s.leader.Continue())
	next := acquireLock(t, connect(t, longTimeout, c.Addrs()), path.Dir(s.hold.Node()))
	require.Greater(t, next.Token(), s.hold.Token())
}

// What a hung leader costs depends on how long the others wait for it.
func TestHowLongAHungLeaderIsMissed(t *testing.T) {
	if !*measure {
		t.Skip("measures: -measure runs it")
	}
	for _, limit := range []int{2, 5, 8, 10, 12, 15} {
		c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = limit })
		s := newSubject(t, c, longTimeout)
		began := Now()
		require.NoError(t, s.leader.Pause())
		outcome := "confirmed again"
		select {
		case <-s.resumed:
		case <-s.hold.Lost():
			outcome = "lost"
		}
		t.Logf("tick %v, syncLimit %d ticks = %v: a hold of T = %v is %s after %v",
			tick, limit, time.Duration(limit)*tick, longTimeout, outcome, Since(began).Round(10*time.Millisecond))
		c.Stop()
	}
}

// What a fault of one server costs: how many of the holds outlive it, and how many
// of those another soon after.
func TestHowManyHoldsOutliveAFault(t *testing.T) {
	if !*measure {
		t.Skip("measures: -measure runs it")
	}
	const holds = 24
	for _, timeout := range []time.Duration{4 * time.Second, longTimeout} {
		for fault, inject := range faultsOfOneServer {
			t.Run(fmt.Sprintf("%s, T = %v", fault, timeout), func(t *testing.T) {
				c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 3 })
				var all subjects
				for range holds {
					all = append(all, newSubject(t, c, timeout))
					pauseFor(rand.N(timeout / 8 / holds))
				}
				require.NoError(t, inject(all[0]))
				began := Now()
				kept, took := all.outcome()
				over := Since(began)
				line := fmt.Sprintf("%d of %d holds are kept, which is known after %v", kept, holds, over.Round(10*time.Millisecond))
				if kept > 0 {
					line += fmt.Sprintf(", confirmed again after %v to %v", took[0].Round(10*time.Millisecond), took[kept-1].Round(10*time.Millisecond))
				}
				t.Log(line)
				require.NoError(t, c.Heal())
				pauseFor(timeout / 4)
				_, followers, err := c.Roles(t.Context())
				require.NoError(t, err)
				hung := slices.MaxFunc(followers, func(a, b *apachezk.Server) int {
					return cmp.Compare(len(all.held().at(a.Addr())), len(all.held().at(b.Addr())))
				})
				there := all.held().at(hung.Addr())
				require.NoError(t, hung.Pause())
				pauseFor(timeout)
				t.Logf("%v after that its server hangs: %d of %d holds are kept", timeout/4, len(there.held()), len(there))
			})
		}
	}
}

// subjects are holds in sessions of their own, all at one follower.
type subjects []*subject

// outcome waits until each hold has been confirmed again, or is lost.
func (all subjects) outcome() (kept int, took []time.Duration) {
	began := Now()
	for _, s := range all {
		select {
		case <-s.resumed:
			kept++
			took = append(took, Since(began))
		case <-s.hold.Lost():
		}
	}
	slices.Sort(took)
	return kept, took
}

// at are those whose sessions are at that server.
func (all subjects) at(server string) subjects {
	return slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return s.session.Conn().Server() != server })
}

// held are those that are not lost.
func (all subjects) held() subjects {
	return slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return isClosed(s.hold.Lost()) })
}
