package nemesis

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// crowd are holds in sessions of their own, all at one follower.
type crowd []*subject

func newCrowd(t *testing.T, c *Cluster, timeout time.Duration, n int) crowd {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	var all crowd
	for i := range n {
		s := &subject{resumed: make(chan struct{}, 16), home: followers[0], leader: leader}
		servers := []string{followers[1].Addr(), leader.Addr()}
		rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
		servers = slices.Insert(servers, 0, s.home.Addr())
		s.session = connect(t, timeout, servers, zklock.WithHostProvider(&inOrder{servers: servers}))
		s.hold = acquireLock(t, s.session, fmt.Sprintf("/crowd-%d-%d", next.Add(1), i), zklock.WithTrace(&zklock.Trace{
			Resumed: func(zklock.TraceInfo) { s.resumed <- struct{}{} },
		}))
		all = append(all, s)
		pauseFor(rand.N(timeout / 8 / time.Duration(n)))
	}
	return all
}

// outcome waits until each hold has been confirmed again, or is lost.
func (all crowd) outcome() (kept int, took []time.Duration) {
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

// What a fault of one server costs: how many of the holds outlive it, and how many
// of those another soon after.
func TestHowManyHoldsOutliveAFault(t *testing.T) {
	if !*measure {
		t.Skip("measures: -measure runs it")
	}
	const holds = 24
	faults := []struct {
		name   string
		strike func(*subject) error
	}{
		{"its follower hangs", func(s *subject) error { return s.home.Pause() }},
		{"its follower is killed", func(s *subject) error { s.home.Kill(); return nil }},
		{"the leader is killed", func(s *subject) error { s.leader.Kill(); return nil }},
		{"the leader hangs", func(s *subject) error { return s.leader.Pause() }},
	}
	for _, timeout := range []time.Duration{4 * time.Second, longTimeout} {
		for _, f := range faults {
			t.Run(fmt.Sprintf("%s, T = %v", f.name, timeout), func(t *testing.T) {
				c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 3 })
				all := newCrowd(t, c, timeout, holds)
				require.NoError(t, f.strike(all[0]))
				struck := Now()
				kept, took := all.outcome()
				over := Since(struck)
				line := fmt.Sprintf("%d of %d holds are kept, which is known after %v", kept, holds, over.Round(10*time.Millisecond))
				if kept > 0 {
					line += fmt.Sprintf(", confirmed again after %v to %v", took[0].Round(10*time.Millisecond), took[kept-1].Round(10*time.Millisecond))
				}
				t.Log(line)
				revive(t, c)
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

// at are those whose sessions are at that server.
func (all crowd) at(server string) crowd {
	return slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return s.session.Conn().Server() != server })
}

// held are those that are not lost.
func (all crowd) held() crowd {
	return slices.DeleteFunc(slices.Clone(all), func(s *subject) bool { return isClosed(s.hold.Lost()) })
}
