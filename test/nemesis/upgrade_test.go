package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// upgrades are what operators do to an ensemble while its locks are in use.
var upgrades = []struct {
	name      string
	next      bool // from the start on servers of the next version
	configure func(*apachezk.Config)
	do        func(*operator) error
}{
	{"nothing", false, func(*apachezk.Config) {}, func(o *operator) error { return o.rest(6) }},
	{"another version", false, func(*apachezk.Config) {}, func(o *operator) error {
		return o.roll("started with another version", os.Getenv(nextHome), func(*apachezk.Config) {})
	}},
	{"another tickTime and maxSessionTimeout", false, func(*apachezk.Config) {}, func(o *operator) error {
		slow := func(c *apachezk.Config) {
			c.TickTime, c.Settings = 3*tick, map[string]string{"maxSessionTimeout": "3000"}
		}
		fast := func(c *apachezk.Config) { c.TickTime, c.Settings = tick, nil }
		return errors.Join(o.roll("started with slow ticks", "", slow), o.roll("started with fast ticks", "", fast))
	}},
	{"localSessionsEnabled", false, func(*apachezk.Config) {}, func(o *operator) error {
		local := func(c *apachezk.Config) {
			c.Settings = map[string]string{"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"}
		}
		return errors.Join(o.roll("started with local sessions", "", local), o.roll("started with local sessions again", "", local))
	}},
	{"other members", true, func(c *apachezk.Config) {
		c.Spares, c.JVM = 1, []string{"-Dzookeeper.skipACL=yes"} // otherwise only a super user may
	}, (*operator).replaceAll},
}

// nextHome names the ZOOKEEPER_HOME of the version that servers are upgraded to.
const nextHome = "ZOOKEEPER_HOME_NEXT"

// TestNothingIsViolatedWhileTheEnsembleIsUpgraded logs what each upgrade costs, for the table in docs/operations.md.
func TestNothingIsViolatedWhileTheEnsembleIsUpgraded(t *testing.T) {
	breaksServersAlone(t)
	next := os.Getenv(nextHome)
	if next == "" {
		t.Skip(nextHome + " is not set to the directory of a second version: see scripts/zookeeper-home.sh")
	}
	for _, upgrade := range upgrades {
		t.Run(upgrade.name, func(t *testing.T) {
			if upgrade.next {
				t.Setenv("ZOOKEEPER_HOME", next)
			}
			s := &Soak{
				Cluster: Start(t, upgrade.configure), Processes: 4, Timeout: 4 * time.Second, Seed: *seed,
				Pictures: filepath.Join(os.TempDir(), "zklock-histories"), Progress: t.Logf,
			}
			s.Plan = func() error {
				bystanders := newBystanders(t, s.Cluster.Addrs())
				err := upgrade.do(&operator{t.Context(), s})
				t.Logf("%s: %s", upgrade.name, bystanders.end(t))
				return err
			}
			report, err := s.Run(t)
			require.NoError(t, err)
			t.Logf("%v", report)
			require.Empty(t, report.Violations)
			require.NotZero(t, report.Handovers)
		})
	}
}

// bystanders are sessions that hold a lock each during an upgrade, and one that takes a lock again and again.
type bystanders struct {
	sessions []*zklock.Session
	holds    map[time.Duration][]*zklock.Hold // by the session timeout that was asked for
	stop     context.CancelFunc
	longest  chan time.Duration // that a lock took which nobody else wants
}

func newBystanders(t *testing.T, addrs []string) *bystanders {
	ctx, stop := context.WithCancel(t.Context())
	b := &bystanders{holds: make(map[time.Duration][]*zklock.Hold), stop: stop, longest: make(chan time.Duration)}
	open := func(timeout time.Duration) *zklock.Session {
		s := connect(t, timeout, addrs)
		b.sessions = append(b.sessions, s)
		return s
	}
	for _, timeout := range []time.Duration{4 * time.Second, 10 * time.Second} {
		for i := range 9 {
			b.holds[timeout] = append(b.holds[timeout], acquireLock(t, open(timeout), fmt.Sprintf("/bystanders/%v-%d", timeout, i)))
		}
	}
	l, err := zklock.New(open(10*time.Second), "/bystanders/free")
	require.NoError(t, err)
	go func() {
		var longest time.Duration
		for ctx.Err() == nil {
			began := time.Now()
			if h, err := l.Acquire(ctx); err == nil {
				_ = h.Release(ctx) // or it is lost
			}
			longest = max(longest, time.Since(began))
			_ = pause(ctx, 10*time.Millisecond)
		}
		b.longest <- longest
	}()
	return b
}

// end tells what the upgrade has cost.
func (b *bystanders) end(t *testing.T) string {
	b.stop()
	cost := fmt.Sprintf("a free lock took %v at most", (<-b.longest).Round(100*time.Millisecond))
	for timeout, holds := range b.holds {
		lost := 0
		for _, h := range holds {
			if isClosed(h.Lost()) {
				lost++
				t.Logf("T = %v: %v", timeout, h.Err())
			}
		}
		cost += fmt.Sprintf("; T = %v: %d of %d holds lost", timeout, lost, len(holds))
	}
	for _, s := range b.sessions {
		s.Close()
	}
	return cost
}

// operator changes the ensemble of a soak, one server after the other.
type operator struct {
	ctx context.Context
	*Soak
}

// rest lets the users work for some session timeouts.
func (o *operator) rest(timeouts int) error {
	return pause(o.Soak.ctx, time.Duration(timeouts)*o.Timeout)
}

// roll changes each server and starts it again, the leader last.
func (o *operator) roll(what, home string, change func(*apachezk.Config)) error {
	leader, followers, err := o.Cluster.Roles(o.ctx)
	if err != nil {
		return err
	}
	for _, server := range append(followers, leader) {
		err := o.During(what, func() error {
			server.Kill()
			return errors.Join(o.Cluster.Change(server, home, change), server.Start(o.ctx))
		})
		if err := errors.Join(err, o.rest(1)); err != nil {
			return err
		}
	}
	return nil
}

// replaceAll has the spare server join, and then takes each of the others out, ends it, and has it join again. The
// processes are spread over all servers, so that for each there are some that are connected to it.
func (o *operator) replaceAll() error {
	spare := o.Cluster.Server(3)
	if err := o.join(spare); err != nil {
		return err
	}
	leader, followers, err := o.Cluster.Roles(o.ctx)
	if err != nil {
		return err
	}
	for _, server := range append(followers, leader) {
		if server == spare {
			continue
		}
		leave := func() error { return o.reconfigure(nil, []string{fmt.Sprint(server.ID())}) }
		if err := errors.Join(o.During("member removed", leave), o.rest(1)); err != nil {
			return err
		}
		err := o.During("removed member ended", func() error {
			server.Kill()
			return o.rest(1)
		})
		if err := errors.Join(err, o.join(server)); err != nil {
			return err
		}
	}
	return nil
}

func (o *operator) join(server *apachezk.Server) error {
	return errors.Join(o.During("member added", func() error {
		again := o.Cluster.Change(server, "", func(*apachezk.Config) {}) // a member that was removed has written that down
		return errors.Join(again, server.Launch(), o.reconfigure([]string{server.Member()}, nil), server.Await(o.ctx))
	}), o.rest(1))
}

// reconfigure asks until it is done: the leader refuses while a server that is to join is not in step.
func (o *operator) reconfigure(joining, leaving []string) error {
	deadline := time.Now().Add(recovery)
	for {
		leader, err := o.Cluster.Leader(o.ctx)
		if err != nil {
			return err
		}
		conn, err := dial(leader.Addr())
		if err != nil {
			return err
		}
		_, err = conn.IncrementalReconfig(joining, leaving, -1)
		conn.Close()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := pause(o.Soak.ctx, tick); err != nil {
			return err
		}
	}
}
