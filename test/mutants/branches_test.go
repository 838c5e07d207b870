package mutants

import (
	"bufio"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var branches = flag.Int("branches", 0, "write docs/simulation.md: which ways so many programs of the simulation go in the rooms that decide")

// deciding are the rooms whose decisions the simulation is to take each way.
var deciding = []room{{directory: "internal/recipe"}, {directory: "internal/queue"}}

// way is one way that a program may go at a place where it decides.
type way struct {
	file, of string
	at       token.Position
	text     string
	times    int // that the programs have gone it
}

// key names the way for as long as its function decides by this text once.
func (w *way) key() string { return fmt.Sprintf("%s %s %s", w.file, w.of, w.text) }

func TestTheSimulationGoesEachWay(t *testing.T) {
	if *branches == 0 {
		t.Skip("takes minutes: make reach runs it")
	}
	p := load(t, deciding)
	ways := p.ways(t, profileOfSimulation(t, p))
	reasons := explanationsIn(t, "untaken.txt")
	var rows, untaken, open strings.Builder
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
		}
	}
	page := fmt.Sprintf(simulationPage, *branches, time.Now().Format("2 January 2006"), rows.String(), orNone(untaken.String()), orNone(open.String()))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs/simulation.md"), []byte(page), 0o644))
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

// counted are the blocks of a coverage profile, and how often each has run.
type counted map[block]int

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
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	counts := counted{}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		if b, count, ok := parseBlock(lines.Text()); ok {
			counts[b] = count
		}
	}
	return counts
}

// at returns how often the statement at pos has run.
func (c counted) at(path string, pos token.Position) int {
	for b, count := range c {
		if b.File == path+"/"+filepath.Base(pos.Filename) && b.has(pos) {
			return count
		}
	}
	return 0
}

// ways returns which ways the rooms' functions may go, in the order of their places.
func (p *packages) ways(t *testing.T, c counted) (all []*way) {
	t.Helper()
	for _, l := range p.rooms {
		for _, file := range slices.Sorted(maps.Keys(l.sources)) {
			s := l.sources[file]
			var of []*way
			for name, f := range s.functions {
				if f.Body == nil {
					continue
				}
				add := func(at ast.Node, times int, format string, args ...any) {
					of = append(of, &way{file, name, p.positions.Position(at.Pos()), shown(fmt.Sprintf(format, args...)), times})
				}
				times := func(n ast.Node) int { return c.at(l.path, p.positions.Position(n.Pos())) }
				decisions(f, times, add)
			}
			slices.SortFunc(of, func(a, b *way) int { return a.at.Offset - b.at.Offset })
			all = append(all, of...)
		}
	}
	return all
}

// decisions tells add of each way that a function may go. times says how often a statement has
// run; the statement in which something is decided ends its block.
func decisions(f *function, times func(ast.Node) int, add func(at ast.Node, times int, format string, args ...any)) {
	inside := func(body []ast.Stmt, end int) int {
		if len(body) > 0 {
			return times(body[0])
		}
		return end
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			yes := inside(n.Body.List, 0)
			add(n.Cond, yes, "%s", f.part(n.Cond.Pos(), n.Cond.End()))
			add(n.Cond, times(n.Cond)-yes, "unless %s", f.part(n.Cond.Pos(), n.Cond.End()))
		case *ast.ForStmt:
			if n.Cond != nil {
				add(n.Cond, inside(n.Body.List, times(n)), "for %s", f.part(n.Cond.Pos(), n.Cond.End()))
			}
		case *ast.RangeStmt:
			add(n, inside(n.Body.List, times(n)), "for range %s", f.part(n.X.Pos(), n.X.End()))
		case *ast.SwitchStmt:
			clausesOf(f, n, n.Body.List, times, add)
		case *ast.TypeSwitchStmt:
			clausesOf(f, n, n.Body.List, times, add)
		case *ast.SelectStmt:
			for _, stmt := range n.Body.List {
				clause := stmt.(*ast.CommClause)
				if text := "default of a select"; len(clause.Body) > 0 {
					if clause.Comm != nil {
						text = f.part(clause.Comm.Pos(), clause.Comm.End())
					}
					add(clause, times(clause.Body[0]), "%s", text)
				}
			}
		}
		return true
	})
}

// clausesOf are the ways of a switch: its cases, and past them all.
func clausesOf(f *function, s ast.Stmt, clauses []ast.Stmt, times func(ast.Node) int, add func(at ast.Node, times int, format string, args ...any)) {
	past, known := times(s), true
	for _, stmt := range clauses {
		clause := stmt.(*ast.CaseClause)
		if len(clause.Body) == 0 { // not counted
			known = false
			continue
		}
		n := times(clause.Body[0])
		past -= n
		if clause.List == nil {
			known = false
			add(clause, n, "default of a switch")
			continue
		}
		add(clause, n, "case %s", f.part(clause.List[0].Pos(), clause.List[len(clause.List)-1].End()))
	}
	if known {
		add(s, past, "past %s", f.part(clauses[0].Pos(), clauses[0].End()))
	}
}

const simulationPage = `# What the simulation reaches

Where the recipe and the queue decide something, and whether %d programs of the simulation (` + "`make reach`" + `) have gone each way
there. Last measured on %s.

| file | ways | taken | the rarest |
|---|---|---|---|
%s
## Never taken, and why

%s
## Never taken, and nobody has said why

%s`
