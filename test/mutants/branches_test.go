package mutants

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var branches = flag.Int("branches", 0, "write docs/results/simulation.md: which ways so many programs of the simulation go in the rooms that decide")

// deciding are the rooms whose decisions the simulation is to take each way.
var deciding = []room{{directory: "internal/recipe"}, {directory: "internal/queue"}}

func TestTheSimulationGoesEachWay(t *testing.T) {
	if *branches == 0 {
		t.Skip("takes minutes: make reach runs it")
	}
	p := load(t, deciding)
	ways := p.ways(profileOfSimulation(t, p))
	reasons := explanationsIn(t, "untaken.txt")
	var rows, untaken, open strings.Builder
	allTaken := 0
	for _, l := range p.rooms {
		for _, file := range slices.Sorted(maps.Keys(l.sources)) {
			of := slices.DeleteFunc(slices.Clone(ways), func(w *way) bool { return w.file != file })
			taken := 0
			for _, w := range of {
				reason := reasons[w.key()]
				switch {
				case w.times > 0:
					taken++
				case reason != "":
					fmt.Fprintf(&untaken, "- %s:%d, %s: %s: %s\n", w.file, w.at.Line, w.of, inCode(w.text), reason)
				default:
					fmt.Fprintf(&open, "- %s:%d, %s: %s\n", w.file, w.at.Line, w.of, inCode(w.text))
				}
			}
			if len(of) > 0 {
				fmt.Fprintf(&rows, "| `%s` | %d | %d | %s |\n", file, len(of), taken, rarest(of))
			}
			allTaken += taken
		}
	}
	fmt.Fprintf(&rows, "| all | %d | %d | |\n", len(ways), allTaken)
	page := fmt.Sprintf(simulationPage, *branches, measured(t), rows.String(), orNone(untaken.String()), orNone(open.String()))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs/results/simulation.md"), []byte(page), 0o644))
}

// rarest shows the way that is gone least often, but gone.
func rarest(ways []*way) string {
	var least *way
	for _, w := range ways {
		if w.times > 0 && (least == nil || w.times < least.times) {
			least = w
		}
	}
	if least == nil {
		return ""
	}
	return fmt.Sprintf("%d × line %d", least.times, least.at.Line)
}

func profileOfSimulation(t *testing.T, p *packages) counted {
	t.Helper()
	var paths []string
	for _, l := range p.rooms {
		paths = append(paths, l.path)
	}
	b := build(t, simulator, "-cover", "-covermode=atomic", "-coverpkg="+strings.Join(paths, ","))
	profile := filepath.Join(t.TempDir(), "profile")
	ran := b.run(0, limits{time.Hour, time.Hour}, only(simulating), fmt.Sprintf("-seeds=%d", *branches), "-test.coverprofile="+profile)
	require.True(t, ran.passed, "%s", ran.output)
	return readCounted(t, profile)
}

const simulationPage = `# Results of the simulation

Which ways %d of its programs have gone where the recipe and the queue decide something. What that is for is said in
[simulation.md](../simulation.md).

Run on %s.

| file | ways | taken | the rarest |
|---|---|---|---|
%s
## Never taken, and why

%s
## Never taken, and nobody has said why

%s`
