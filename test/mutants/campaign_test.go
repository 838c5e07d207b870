package mutants

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	campaign = flag.Bool("campaign", false, "judge generated mutants: all, or those that the other flags choose")
	changed  = flag.String("changed", "", "judge the mutants of what has changed since this commit")
	inRooms  = flag.String("rooms", "", "judge the mutants of these directories or files, with commas between them")
	by       = flag.String("by", "", "have only the tests of these packages judge, with commas between them")
	sample   = flag.Int("sample", 0, "judge so many mutants, by chance")
	chance   = flag.Uint64("mutant-seed", 0, "which ones a sample has; by the clock if 0")
	again    = flag.Bool("again", false, "judge those that have survived, or that no test had reached, once more")
	programs = flag.Int("programs", 3000, "how many programs the simulation may run for a mutant")
	slowest  = flag.Duration("slowest", mostUsualTime, "leave out tests that take a processor longer than that, and than a second, unless they are of the mutant's own package")
	servers  = flag.Bool("servers", false, "have the tests judge, too, that need an Apache ZooKeeper")
	kept     = flag.String("results", "campaign.jsonl", "where results are kept: a campaign goes on where the last one has ended")
	written  = flag.Bool("report", false, "write docs/results/mutants.md by the results of a campaign over everything")
)

func TestCampaign(t *testing.T) {
	if !*campaign && *sample == 0 {
		t.Skip("takes hours: make mutants runs it")
	}
	p := load(t, rooms)
	all := p.generate(t)
	rs := readResults(t, *kept)
	selected := choose(t, all)
	e := effort{Programs: *programs, Slowest: *slowest, Servers: *servers, Judges: *by}
	todo := slices.DeleteFunc(slices.Clone(selected), func(g *generated) bool {
		r, known := rs.known(g)
		return known && (r.Verdict == killed || r.covers(e) && !*again)
	})
	tell("%d mutants, %d of them chosen, %d to be judged", len(all), len(selected), len(todo))
	explained := explanations(t)
	stale(all, explained)
	slices.SortStableFunc(todo, func(a, b *generated) int { // what lives is heard by all, and takes the longest
		return cmp.Compare(min(len(explained[a.key()]), 1), min(len(explained[b.key()]), 1))
	})
	if len(todo) > 0 {
		judgeAll(t, p, todo, e, rs)
	}
	var alive []string
	for _, g := range selected {
		if r, known := rs.known(g); known && r.Verdict != killed && explained[g.key()] == "" && !g.logs {
			alive = append(alive, fmt.Sprintf("%-11s %v", r.Verdict, g))
		}
	}
	tell("%d of %d are alive, and nobody has said why:\n%s", len(alive), len(selected), strings.Join(alive, "\n"))
	if *written {
		writeReport(t, all, rs, explained)
	}
	if *sample > 0 {
		require.Empty(t, alive)
	}
}

// choose returns the mutants that the flags choose.
func choose(t *testing.T, all []*generated) []*generated {
	t.Helper()
	selected := slices.Clone(all)
	if *inRooms != "" {
		rooms := strings.Split(*inRooms, ",")
		selected = slices.DeleteFunc(selected, func(g *generated) bool { return !slices.Contains(rooms, g.room) && !slices.Contains(rooms, g.file) })
	}
	if *changed != "" {
		lines := changedSince(t, *changed)
		selected = slices.DeleteFunc(selected, func(g *generated) bool { return !g.in(lines) })
	}
	if n := *sample; n > 0 {
		selected = bySeed(selected, n)
	}
	return selected
}

// bySeed returns n of all mutants, by chance, and tells by which.
func bySeed[M any](all []M, n int) []M {
	mutants, seed := slices.Clone(all), *chance
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	tell("the same mutants again: -mutant-seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	return mutants[:min(n, len(mutants))]
}

// judgeAll judges mutants side by side, and adds to the results.
func judgeAll(t *testing.T, p *packages, todo []*generated, e effort, rs *results) {
	t.Helper()
	b := &bench{reach: measure(t, p), effort: e, tests: map[string]*tests{}}
	paths := map[string]string{} // of the rooms, by their directories
	for _, l := range p.rooms {
		paths[l.directory] = l.path
	}
	flag := "-overlay=" + overlay(t, p.combined(todo))
	for _, of := range judging() {
		b.tests[of] = build(t, of, flag)
	}
	tell("judging")
	began, done, alive := time.Now(), atomic.Int64{}, atomic.Int64{}
	seconds := make([]float64, len(todo))
	inParallel(len(todo), func(i int) {
		g := todo[i]
		o := b.judge(g, paths[g.room])
		rs.add(t, g, o, e)
		seconds[i] = o.Seconds
		if o.Verdict != killed {
			alive.Add(1)
			tell("%-11s %v", o.Verdict, g)
		}
		if n := done.Add(1); n%25 == 0 {
			left := time.Duration(float64(time.Since(began)) / float64(n) * float64(int64(len(todo))-n))
			tell("%d of %d judged, %d alive, %v left", n, len(todo), alive.Load(), left.Round(time.Minute))
		}
	})
	slices.Sort(seconds)
	tell("%d judged in %v; the median mutant took %.1f s", len(todo), time.Since(began).Round(time.Second), seconds[len(seconds)/2])
}

// combined returns the files that have all those mutants.
func (p *packages) combined(mutants []*generated) map[string]string {
	texts := map[string]string{}
	insert(mutants)
	defer remove(mutants)
	for _, l := range p.rooms {
		for file, s := range l.sources {
			texts[file] = s.combined()
		}
		texts[filepath.Join(l.directory, "chosen_mutant.go")] = l.chooser()
	}
	return texts
}

// inParallel does n things, as many at a time as there are processors.
func inParallel(n int, do func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
