package mutants

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reach says which statements of the rooms each test runs.
type reach struct {
	Program string // a hash of the module's sources
	Servers bool
	Blocks  []block
	Tests   []*reaching
}

// block is a part of a file that is run as a whole, as the go command's coverage has it.
type block struct {
	File                                   string // as it is imported
	FromLine, FromColumn, ToLine, ToColumn int
}

// reaching is a test, and which blocks it runs.
type reaching struct {
	Of, Name   string
	Took, Work time.Duration // see run
	Blocks     map[int]bool
}

const (
	simulating    = "TestSimulation" // judges by programs, not as a whole
	mostUsualTime = 5 * time.Minute  // of a test
	seedsForReach = 1000
	reachFile     = "reach.json"
)

// measure runs each test alone, and keeps what has come out as long as no source changes.
func measure(t *testing.T, p *packages) *reach {
	t.Helper()
	r := &reach{Program: hashOfSources(t), Servers: *servers}
	kept := new(reach)
	if text, err := os.ReadFile(reachFile); *by == "" && err == nil && json.Unmarshal(text, kept) == nil && kept.Program == r.Program && (kept.Servers || !r.Servers) {
		return kept
	}
	tell("measuring which tests reach what")
	var paths []string
	for _, l := range p.rooms {
		paths = append(paths, l.path)
	}
	index := map[block]int{}
	for _, of := range judging() {
		b := build(t, of, "-cover", "-covermode=set", "-coverpkg="+strings.Join(paths, ","))
		names := strings.Fields(b.run(0, usualLimits, "-test.list=.").output)
		found := make([]*reaching, len(names))
		inParallel(len(names), func(i int) { found[i] = r.try(t, b, names[i], index) })
		r.Tests = append(r.Tests, slices.DeleteFunc(found, func(f *reaching) bool { return f == nil })...)
	}
	if *by != "" {
		return r
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(reachFile, text, 0o600))
	return r
}

var usualLimits = limits{mostUsualTime, mostUsualTime}

var reachMutex sync.Mutex // guards a reach and its index while it is measured

// try runs a test, and returns what it has reached; nil of one that does not pass here.
func (r *reach) try(t *testing.T, b *tests, name string, index map[block]int) *reaching {
	profile := filepath.Join(t.TempDir(), name)
	args := []string{only(name), "-test.v", "-test.coverprofile=" + profile}
	if strings.HasPrefix(name, simulating) && name != simulating {
		return nil
	}
	if name == simulating {
		args = append(args, fmt.Sprintf("-seeds=%d", seedsForReach))
	}
	ran := b.run(0, usualLimits, args...)
	if !ran.passed {
		tell("%s.%s judges nothing, since it fails without a mutant:\n%s", b.of, name, ran.output)
	}
	if !strings.Contains(ran.output, "--- PASS: "+name+" ") {
		return nil
	}
	reachMutex.Lock()
	defer reachMutex.Unlock()
	return &reaching{Of: b.of, Name: name, Took: ran.took, Work: ran.work, Blocks: r.profile(t, profile, index)}
}

// profile reads a coverage profile.
func (r *reach) profile(t *testing.T, file string, index map[block]int) map[int]bool {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	reached := map[int]bool{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		b, count, ok := parseBlock(lines.Text())
		if !ok || count == 0 {
			continue
		}
		if _, known := index[b]; !known {
			index[b] = len(r.Blocks)
			r.Blocks = append(r.Blocks, b)
		}
		reached[index[b]] = true
	}
	return reached
}

// parseBlock reads a line of a coverage profile: a block, and how often it has run.
func parseBlock(line string) (b block, count int, ok bool) {
	colon := strings.LastIndex(line, ":")
	b.File = line[:max(colon, 0)]
	n, _ := fmt.Sscanf(line[max(colon, 0):], ":%d.%d,%d.%d %d %d", &b.FromLine, &b.FromColumn, &b.ToLine, &b.ToColumn, new(int), &count)
	return b, count, n == 6
}

// of returns the tests that run the statement at pos, the quick ones first.
func (r *reach) of(path string, pos token.Position) (tests []*reaching) {
	file := path + "/" + filepath.Base(pos.Filename)
	for i, b := range r.Blocks {
		if b.File == file && b.has(pos) {
			tests = append(tests, r.reaching(i)...)
		}
	}
	slices.SortStableFunc(tests, func(a, b *reaching) int { return cmp.Compare(a.Work, b.Work) })
	return slices.Compact(tests)
}

func (r *reach) reaching(block int) (tests []*reaching) {
	for _, test := range r.Tests {
		if test.Blocks[block] {
			tests = append(tests, test)
		}
	}
	return tests
}

func (b block) has(pos token.Position) bool {
	from := cmp.Or(cmp.Compare(b.FromLine, pos.Line), cmp.Compare(b.FromColumn, pos.Column))
	to := cmp.Or(cmp.Compare(b.ToLine, pos.Line), cmp.Compare(b.ToColumn, pos.Column))
	return from <= 0 && to > 0
}

// hashOfSources changes with any Go source of the module but this package's.
func hashOfSources(t *testing.T) string {
	t.Helper()
	hash := sha256.New()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if at, _ := filepath.Abs(path); at == here {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	}))
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}
