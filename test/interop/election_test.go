package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/apachezk"
)

// selector makes candidates of Curator's LeaderSelector.
func selector(t *testing.T, server string) library {
	java := javaProgram(t, "libcurator-recipes-java", "Selectors", "curator-client", "curator-framework", "curator-recipes", "guava", "zookeeper", "slf4j-nop")
	return program(t, append(java, server)...)
}

// states are what an Observe tells: a leader's value, or "" for nobody.
type states struct {
	t    *testing.T
	told chan string
}

func observe(t *testing.T, s *zklock.Session, path string) states {
	o := states{t, make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for leader, err := range election.Observe(ctx, s, path) {
			if err == nil || errors.Is(err, election.ErrNoLeader) {
				o.told <- string(leader.Value)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return o
}

// await waits until that leads.
func (o states) await(want string) {
	o.t.Helper()
	for late := time.After(patience); ; {
		select {
		case told := <-o.told:
			if told == want {
				return
			}
		case <-late:
			require.FailNow(o.t, "waited in vain for "+want)
		}
	}
}

func TestOurCandidatesAndThoseOfCuratorsLeaderSelectorStandInOneQueue(t *testing.T) {
	const path = "/app/election"
	server := apachezk.Run(t).Server(0)
	selectors := selector(t, server.Addr())
	s := connect(t, server.Addr())
	seen := observe(t, connect(t, server.Addr()), path)
	e, err := election.New(s, path, election.WithValue([]byte("ours")))
	require.NoError(t, err)

	campaign := func() <-chan *election.Term {
		leads := make(chan *election.Term, 1)
		go func() {
			term, err := e.Campaign(context.WithoutCancel(t.Context()))
			if err == nil {
				leads <- term
			}
		}()
		return leads
	}
	inLine := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			found, err := zklock.Inspect(t.Context(), s, path)
			return err == nil && len(found) == n
		}, patience, 10*time.Millisecond)
	}

	first, second := selectors(path).(*remote), selectors(path).(*remote)
	require.NoError(t, first.Lock())
	seen.await(first.name)
	leads := campaign()
	inLine(2)
	theirs := make(chan error, 1)
	go func() { theirs <- second.Lock() }()
	inLine(3)
	require.Empty(t, leads, "theirs leads")
	require.NoError(t, first.Unlock())

	term := <-leads
	seen.await("ours")
	require.Empty(t, theirs, "ours leads")
	onlooker := selectors(path).(*remote)
	require.ErrorContains(t, onlooker.do("leader", onlooker.name, path), "election=leader", "what theirs see of ours")
	found, err := zklock.Inspect(t.Context(), s, path)
	require.NoError(t, err)
	require.True(t, found[0].Held)
	require.NoError(t, term.Resign(t.Context()))

	require.NoError(t, <-theirs)
	seen.await(second.name)
	require.NoError(t, second.Unlock())
	seen.await("")
}
