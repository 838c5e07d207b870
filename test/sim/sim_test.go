package sim

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	seeds  = flag.Int("seeds", 400, "how many programs to simulate")
	seed   = flag.Uint64("seed", 0, "the only program to simulate")
	first  = flag.Uint64("first", 1, "the first program to simulate")
	focus  = flag.String("focus", "", "the kind of fault, by its name, that is to come as often as all the others together")
	shrink = flag.Bool("shrink", false, "look for a smaller program that fails too")
	times  = flag.Int("times", 1, "how often to simulate the program given by -seed")
)

// progressEvery is how many seeds apart a long run tells how far it is.
const progressEvery = 5000

func TestSimulation(t *testing.T) {
	stats := new(Stats)
	start := time.Now()
	if *seed != 0 {
		again(t, stats)
	} else {
		n := uint64(*seeds)
		if testing.Short() {
			n = min(n, 300)
		}
		simulateAll(t, inFocus(t), *first, *first+n, stats)
	}
	t.Logf("%d seeds in %v: %v", stats.Seeds.Load(), time.Since(start).Round(time.Millisecond), stats)
}

// A fault that needs several of its kind, or much else at the right moment, shows in
// more programs when the kind is in focus.
func TestSimulationWithEachKindOfFaultInFocus(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSimulation is enough for a short run")
	}
	n := uint64(*seeds / (2 * int(faultKinds)))
	for kind := range faultKinds {
		t.Run(kind.String(), func(t *testing.T) {
			begin := *first + uint64(kind)*n
			simulateAll(t, kind, begin, begin+n, new(Stats))
		})
	}
}

// simulateAll simulates the programs from first on, with this kind of fault in focus,
// and stops at the first failure.
func simulateAll(t *testing.T, focus FaultKind, first, end uint64, stats *Stats) {
	var failed atomic.Bool
	var next atomic.Uint64
	next.Store(first)
	t.Run("seeds", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for s := next.Add(1) - 1; s < end && !failed.Load(); s = next.Add(1) - 1 {
					if f := Run(t, Generate(s, focus), stats); f != nil {
						failed.Store(true)
						report(t, f)
					}
					if s%progressEvery == 0 {
						t.Logf("seed %d: %d grants and %d losses so far", s, stats.Grants.Load(), stats.Losses.Load())
					}
				}
			})
		}
	})
}

// again simulates one program, as often as wanted.
func again(t *testing.T, stats *Stats) {
	failures := 0
	var last *Failure
	for range *times {
		if f := Run(t, Generate(*seed, inFocus(t)), stats); f != nil {
			failures++
			last = f
		}
	}
	if last != nil {
		t.Logf("seed %d: %d of %d runs failed", *seed, failures, *times)
		report(t, last)
	}
}

// inFocus returns the kind of fault that -focus names.
func inFocus(t *testing.T) FaultKind {
	for kind := range faultKinds {
		if kind.String() == *focus {
			return kind
		}
	}
	require.Empty(t, *focus, "no kind of fault has this name")
	return AllKinds
}

func report(t *testing.T, f *Failure) {
	if *shrink {
		f = Shrink(t, f.Program, f)
	}
	t.Errorf("%s", f.Report())
}
