package nemesis

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	length = flag.Duration("soak", wholeRound/3, "how long the soak lasts")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the soak's faults and programs")
)

func TestSoak(t *testing.T) {
	breaksServers(t)
	s := &Soak{
		Cluster: Start(t), Processes: 4, Timeout: 4 * time.Second, Length: *length, Seed: *seed,
		Pictures: filepath.Join(os.TempDir(), "zklock-histories"), Progress: t.Logf,
	}
	t.Logf("seed %d", *seed)
	report, err := s.Run(t)
	require.NoError(t, err)
	t.Logf("%v", report)
	require.Empty(t, report.Violations)
	require.NotZero(t, report.Handovers)
	require.NotZero(t, report.Shared, "WithHandoff and WithRetention were not at work")
	require.NotZero(t, report.Updates[Written])
	if *length < wholeRound {
		return
	}
	for _, faults := range nemeses {
		for _, f := range faults {
			require.NotZero(t, report.Faults[f.name], f.name)
		}
	}
}

func TestEachFaultComesBeforeAnyComesAgain(t *testing.T) {
	for i, faults := range nemeses {
		g := generator{rng: rand.New(rand.NewPCG(uint64(i), 0)), faults: faults}
		for range 3 {
			seen := make(map[string]bool)
			for range faults {
				seen[g.next().name] = true
			}
			require.Len(t, seen, len(faults))
		}
	}
}
