package nemesis

import (
	"context"
	"flag"
	"path"
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

func newSubject(t *testing.T, c *Cluster, timeout time.Duration) *subject {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	s := &subject{resumed: make(chan struct{}, 16), home: followers[0], leader: leader}
	servers := []string{followers[0].Addr(), followers[1].Addr(), leader.Addr()}
	s.session = connect(t, timeout, servers, zklock.WithHostProvider(&inOrder{servers: servers}))
	require.Equal(t, s.home.Addr(), s.session.Conn().Server())
	s.hold = acquireLock(t, s.session, "/"+time.Now().Format("15.04.05.000000"), zklock.WithTrace(&zklock.Trace{
		Resumed: func(zklock.TraceInfo) { s.resumed <- struct{}{} },
	}))
	return s
}

// outlives waits until a server has confirmed the session, and checks that the
// hold has lasted.
func (s *subject) outlives(t *testing.T, fault string) time.Duration {
	t.Helper()
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
	return took
}

func TestAHoldOutlivesTheFaultOfOneServer(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	for fault, strike := range map[string]func(*subject) error{
		"its follower hangs":     func(s *subject) error { return s.home.Pause() },
		"its follower is killed": func(s *subject) error { s.home.Kill(); return nil },
		"the leader is killed":   func(s *subject) error { s.leader.Kill(); return nil },
		"the leader hangs":       func(s *subject) error { return s.leader.Pause() },
	} {
		t.Run(fault, func(t *testing.T) {
			s := newSubject(t, c, longTimeout)
			t.Cleanup(func() { revive(t, c) })
			require.NoError(t, strike(s))
			s.outlives(t, fault)
		})
	}
}

// revive brings all servers back, whatever has happened to them.
func revive(t *testing.T, c *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	for _, s := range c.Servers() {
		if s.Continue() != nil {
			require.NoError(t, s.Launch())
		}
	}
	require.NoError(t, c.Await(ctx))
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
