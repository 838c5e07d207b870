package mutants

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var kills = flag.Int("kills", 40, "how many of the generated mutants that a campaign has killed are judged once more, by chance")

// killedFile has a line for each mutant that a test has killed, in the last campaign over
// everything: which one it is, the hash of its text, and the test.
const killedFile = "killed.txt"

// kill is what such a line says.
type kill struct{ hash, of, test string }

// writeKills keeps the mutants that a test kills by failing. One that is killed by a test that
// hangs takes too long to be judged each time.
func writeKills(t *testing.T, all []*generated, rs *results) {
	t.Helper()
	var lines strings.Builder
	for _, g := range all {
		if r, known := rs.known(g); known && r.Verdict == killed && !r.Hung {
			dot := strings.LastIndex(r.By, ".")
			fmt.Fprintf(&lines, "%s: %s %s %s\n", g.key(), r.Hash, r.By[:dot], r.By[dot+1:])
		}
	}
	require.NoError(t, os.WriteFile(killedFile, []byte(lines.String()), 0o644))
}

// knownKills reads the file, by the mutants' keys.
func knownKills(t *testing.T) map[string]kill {
	t.Helper()
	text, err := os.ReadFile(killedFile)
	require.NoError(t, err)
	kills := map[string]kill{}
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		words := strings.Fields(rest)
		require.Len(t, words, 3, "%q", line)
		kills[key] = kill{words[0], words[1], words[2]}
	}
	return kills
}

// A test that notices less than it did is found by the mutants that it has killed.
func TestMutantsThatTestsHaveKilledAreKilledAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library's tests")
	}
	p, recorded := load(t, rooms), knownKills(t)
	same := slices.DeleteFunc(p.generate(t), func(g *generated) bool { return recorded[g.key()].hash != g.hash() })
	chosen := bySeed(same, *kills)
	tell("%d of %d mutants that were killed are as they were; %d are judged", len(same), len(recorded), len(chosen))
	of := map[string]*tests{}
	flag := "-overlay=" + overlay(t, p.combined(chosen))
	for _, g := range chosen {
		if k := recorded[g.key()]; of[k.of] == nil {
			of[k.of] = build(t, k.of, flag)
		}
	}
	for _, g := range chosen {
		k := recorded[g.key()]
		t.Run(g.key(), func(t *testing.T) {
			t.Parallel()
			if !of[k.of].has(k.test) {
				t.Skip(k.test, "is not there any more")
			}
			h := &hearing{tests: of[k.of], names: []string{k.test}, args: k.args()}
			_, r := h.try(g.number, h.names, limits{time.Minute, time.Minute})
			require.False(t, r.passed, "%s.%s does not notice %v any more", k.of, k.test, g)
		})
	}
}

// has reports whether there is a test of that name.
func (b *tests) has(name string) bool {
	return strings.Contains(b.run(0, usualLimits, "-test.list=^"+name+"$").output, name+"\n")
}

// args has the simulation run as many programs as campaigns do, and a test that notices most of
// the time run more than once.
func (k kill) args() []string {
	if k.test == simulating {
		return []string{"-test.cpu=1", fmt.Sprintf("-seeds=%d", *programs)}
	}
	return []string{"-test.count=20"}
}

// bySeed returns n of the mutants, by chance, and tells by which.
func bySeed(mutants []*generated, n int) []*generated {
	seed := *chance
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	tell("the same mutants again: -mutant-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	return mutants[:min(n, len(mutants))]
}
