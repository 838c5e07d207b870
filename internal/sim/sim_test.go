package sim

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 500, "how many programs to simulate")
	seed  = flag.Uint64("seed", 0, "the first program; alone, the only one")
)

func TestSimulation(t *testing.T) {
	stats := new(Stats)
	first, last := uint64(1), uint64(*seeds)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	var failed atomic.Bool
	var next atomic.Uint64
	next.Store(first)
	start := time.Now()
	t.Run("seeds", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for s := next.Add(1) - 1; s <= last && !failed.Load(); s = next.Add(1) - 1 {
					if f := Run(t, Generate(s), stats); f != nil {
						failed.Store(true)
						t.Errorf("%s", f.Report())
					}
				}
			})
		}
	})
	t.Logf("%d seeds in %v: %d grants, %d losses", stats.Seeds.Load(), time.Since(start), stats.Grants.Load(), stats.Losses.Load())
	for k := range faultKinds {
		t.Logf("%-22v %d", k, stats.Faults[k].Load())
	}
}
