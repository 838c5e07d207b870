package interop

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const each = 250 // sections of each worker; eight make 2,000

// requireNoneLost checks that each section incremented the number once.
func (f *fleet) requireNoneLost() {
	f.t.Helper()
	sections := 0
	for _, m := range f.workers {
		sections += m.quota
	}
	var got, want []int
	for _, r := range f.log {
		got = append(got, r.n)
	}
	slices.Sort(got)
	for n := range sections {
		want = append(want, n+1)
	}
	require.Equal(f.t, want, got, "each increment counts once")
	require.Equal(f.t, sections, f.number())
}

// All of them on one lock. kazoo's own names, "__lock__", Curator does not
// recognise as a lock's, and so does not wait for them: kazoo's lock is told to use
// the others' names, by a subclass as its own read and write locks are.
func TestOurLockCuratorsZkLockAndKazoosExcludeEachOther(t *testing.T) {
	f := newFleet(t)
	f.add(1, ours, "mutex", each)
	f.add(1, ours, "cohort", each)
	f.add(2, ours, "zk.Lock", each)
	f.add(2, curator, "mutex", each)
	f.add(2, kazoo, "curator-named", each)
	f.run()
	f.requireNoneLost()
	f.requireFair()
}

// kazoo with its own names and extra_lock_patterns, beside all but Curator.
func TestOurLockZkLockAndKazoosExcludeEachOther(t *testing.T) {
	f := newFleet(t)
	f.add(2, ours, "mutex", each/2)
	f.add(2, ours, "zk.Lock", each/2)
	f.add(2, kazoo, "extra-patterns", each/2)
	f.run()
	f.requireNoneLost()
	f.requireFair()
}

func TestOurReadWriteLockAndCuratorsExcludeEachOther(t *testing.T) {
	f := newFleet(t)
	f.add(4, ours, "rw", each)
	f.add(4, curator, "rw", each)
	f.run()
	var wrote []int
	for _, r := range f.log {
		if r.wrote {
			wrote = append(wrote, r.n)
		}
	}
	slices.Sort(wrote)
	require.Len(t, wrote, len(slices.Compact(slices.Clone(wrote))), "no number was written twice")
	require.Len(t, wrote, f.number(), "no write was lost")
	require.Len(t, f.log, 8*each)
	f.requireFair()
}

func TestOurSemaphoreAndCuratorsCountTheSamePermits(t *testing.T) {
	f := newFleet(t)
	f.size = 3
	f.add(4, ours, "semaphore", each)
	f.add(4, curator, "semaphore", each)
	f.run()
	most := 0
	for _, r := range f.log {
		most = max(most, r.n)
	}
	require.LessOrEqual(t, most, f.size, "more permits were out than there are")
	require.Len(t, f.log, 8*each)
	f.requireFair()
}
