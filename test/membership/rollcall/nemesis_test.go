package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/test/nemesis"
)

// roll is a client process, and the list that it has printed last.
type roll struct {
	mu     sync.Mutex
	latest string
}

func followRoll(client *process) *roll {
	r := new(roll)
	go func() {
		for line := range client.lines {
			_, list, _ := strings.Cut(line, ": ")
			names := strings.Fields(list)
			slices.Sort(names)
			r.mu.Lock()
			r.latest = strings.Join(names, " ")
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *roll) await(t *testing.T, want string) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		latest := r.latest
		r.mu.Unlock()
		if latest == want {
			return
		}
		require.True(t, time.Now().Before(limit), "waited in vain for %q, the list is %q", want, latest)
	}
}

// fleet is the server processes that live.
type fleet struct {
	t      *testing.T
	addrs  string
	living map[string]*process
}

func (f *fleet) join(names ...string) {
	for _, name := range names {
		f.living[name] = start(f.t, f.addrs, append(mortal, "server", name)...)
	}
	for _, name := range names {
		f.living[name].await(name + " serves")
	}
}

func (f *fleet) end(by os.Signal, name string) {
	f.living[name].signal(by)
	delete(f.living, name)
}

// seen waits until each of the lists has those that live, and nobody else.
func (f *fleet) seen(lists ...*roll) {
	f.t.Helper()
	want := strings.Join(slices.Sorted(maps.Keys(f.living)), " ")
	for _, list := range lists {
		list.await(f.t, want)
	}
}

func TestUnderFaultsEveryListBecomesTheTruth(t *testing.T) {
	cluster := nemesis.Start(t)
	leader, followers, err := cluster.Roles(t.Context())
	require.NoError(t, err)
	f := &fleet{t: t, addrs: strings.Join(cluster.Addrs(), ","), living: make(map[string]*process)}
	atLeader := followRoll(start(t, leader.Addr(), "client"))
	atFirst := followRoll(start(t, followers[0].Addr(), "client"))
	atSecond := followRoll(start(t, followers[1].Addr(), "client"))

	f.join("alpha", "beta", "gamma", "delta")
	f.seen(atLeader, atFirst, atSecond)

	// A follower is cut off, and with it one of the clients.
	cluster.Mesh.Partition([]int{followers[0].ID()}, []int{leader.ID(), followers[1].ID()})
	f.end(os.Kill, "alpha")
	f.end(os.Interrupt, "beta")
	f.join("epsilon")
	f.seen(atLeader, atSecond)
	f.end(os.Kill, "gamma")
	cluster.Mesh.Heal()
	f.seen(atLeader, atFirst, atSecond)

	// The leader is killed, and restarted while servers come and go.
	leader.Kill()
	f.end(os.Kill, "delta")
	f.join("zeta", "eta")
	f.seen(atFirst, atSecond)
	require.NoError(t, leader.Start(t.Context()))
	f.join("theta")
	f.seen(atLeader, atFirst, atSecond)
}
