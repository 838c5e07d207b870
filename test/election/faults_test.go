package election_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/test/nemesis"
)

func TestLeadersAreKilledAndServersBreakAndNeverTwoLeadAndEveryObserverSeesTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an ensemble and breaks it: left out by -short")
	}
	cluster := nemesis.Start(t)
	first, others, err := cluster.Roles(t.Context())
	require.NoError(t, err)
	r := &referee{reigns: make(map[int64]*reign)}
	var observers []*observer
	for _, s := range cluster.Servers() {
		observers = append(observers, observe(t, s.Addr()))
	}
	anywhere := observe(t, cluster.Addrs()...)
	candidates := make(map[string]*process)
	join := func() {
		name := fmt.Sprint("candidate ", len(candidates))
		candidates[name] = r.start(t, name, cluster.Addrs()...)
	}
	for range 3 {
		join()
	}
	// replace kills who leads. Those who can be reached are to see the next one.
	replace := func(seeing ...*observer) {
		t.Helper()
		name, token := r.leader()
		candidates[name].kill()
		join()
		r.await(t, token, seeing...)
	}
	all := append(slices.Clone(observers), anywhere)
	seenFrom := func(without *apachezk.Server) (seeing []*observer) {
		for i, s := range cluster.Servers() {
			if s != without {
				seeing = append(seeing, observers[i])
			}
		}
		return append(seeing, anywhere)
	}
	heal := func() {
		t.Helper()
		require.NoError(t, cluster.Heal())
		r.await(t, 0, all...)
	}
	r.await(t, 0, all...)
	for range 3 {
		replace(all...)
	}

	cluster.CutOff(others[0])
	replace(seenFrom(others[0])...)
	heal()

	first.Kill()
	replace(seenFrom(first)...)
	heal()

	require.NoError(t, others[1].Pause())
	replace(seenFrom(others[1])...)
	heal()

	r.judge(t, all...)
}

// judge checks that no two led at once, by their own clocks, and that no observer has seen who never
// led, or an old leader again.
func (r *referee) judge(t *testing.T, observers ...*observer) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	reigns := make([]*reign, 0, len(r.reigns))
	for _, one := range r.reigns {
		reigns = append(reigns, one)
	}
	slices.SortFunc(reigns, func(a, b *reign) int { return cmp.Compare(a.first, b.first) })
	for i, next := range reigns[1:] {
		require.Positive(t, next.first.Sub(reigns[i].last), "%s led when %s began to", reigns[i].name, next.name)
	}
	for _, o := range observers {
		newest := int64(0)
		for _, l := range o.all {
			if l.Token == 0 {
				continue
			}
			require.Contains(t, r.reigns, l.Token)
			require.Equal(t, r.reigns[l.Token].name, string(l.Value))
			require.GreaterOrEqual(t, l.Token, newest)
			newest = l.Token
		}
	}
	t.Logf("%d terms", len(reigns))
}
