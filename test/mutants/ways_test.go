package mutants

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// way is one way that a program may go at a place where it decides.
type way struct {
	file, of string
	at       token.Position
	text     string
	nth      int // of this text's in the function, from 1 on
	times    int // that the programs have gone it
}

// key names the way for as long as its function decides by such texts in this order.
func (w *way) key() string {
	key := fmt.Sprintf("%s %s %s", w.file, w.of, w.text)
	if w.nth > 1 {
		key += fmt.Sprintf(" (%d)", w.nth)
	}
	return key
}

// counted are the blocks of a coverage profile, and how often each has run.
type counted map[block]int

func readCounted(t *testing.T, profile string) counted {
	t.Helper()
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

// at returns how often the block has run that pos is in. One without a statement may have no
// length.
func (c counted) at(path string, pos token.Position) int {
	for b, count := range c {
		begins := b.FromLine == pos.Line && b.FromColumn == pos.Column
		if b.File == path+"/"+filepath.Base(pos.Filename) && (begins || b.has(pos)) {
			return count
		}
	}
	return 0
}

// ways returns which ways the rooms' functions may go, in the order of their places.
func (p *packages) ways(c counted) (all []*way) {
	for _, l := range p.rooms {
		for _, file := range slices.Sorted(maps.Keys(l.sources)) {
			all = append(all, l.sources[file].ways(file, l.path, c)...)
		}
	}
	return all
}

// ways are those of a file in the package of that path.
func (s *source) ways(file, path string, c counted) (all []*way) {
	for name, f := range s.functions {
		if f.Body == nil {
			continue
		}
		d := &decider{source: s, times: func(pos token.Pos) int { return c.at(path, s.positions.Position(pos)) }}
		ast.Inspect(f.Body, d.decides)
		seen := map[string]int{}
		for _, w := range d.ways {
			seen[w.text]++
			w.file, w.of, w.nth = file, name, seen[w.text]
		}
		all = append(all, d.ways...)
	}
	slices.SortStableFunc(all, func(a, b *way) int { return a.at.Offset - b.at.Offset })
	return all
}

// decider finds the ways that a function may go.
type decider struct {
	*source
	times func(token.Pos) int // that what is there has run
	ways  []*way
}

func (d *decider) add(at ast.Node, times int, kind string, of ...ast.Node) {
	text := kind
	if len(of) > 0 {
		text += d.part(of[0].Pos(), of[len(of)-1].End())
	}
	d.ways = append(d.ways, &way{at: d.positions.Position(at.Pos()), text: shown(text), times: times})
}

// decides adds the ways at a node. A statement that decides ends its block, in which its first
// word is; what it is decided by may be behind a function, and so in no block. The first place
// in braces, or behind a case's colon, is in the block of that way.
func (d *decider) decides(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		yes := d.times(n.Body.Lbrace + 1)
		d.add(n.Cond, yes, "", n.Cond)
		d.add(n.Cond, d.times(n.Pos())-yes, "unless ", n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			d.add(n.Cond, d.times(n.Body.Lbrace+1), "for ", n.Cond)
		}
	case *ast.RangeStmt:
		d.add(n, d.times(n.Body.Lbrace+1), "for range ", n.X)
	case *ast.SwitchStmt:
		d.switches(n, n.Body.List)
	case *ast.TypeSwitchStmt:
		d.switches(n, n.Body.List)
	case *ast.SelectStmt:
		d.selects(n.Body.List)
	}
	return true
}

// switches adds the ways of a switch: its cases, and past them all.
func (d *decider) switches(s ast.Stmt, clauses []ast.Stmt) {
	past, hasDefault := d.times(s.Pos()), false
	for _, stmt := range clauses {
		clause := stmt.(*ast.CaseClause)
		times := d.times(clause.Colon + 1)
		past -= times
		if clause.List == nil {
			hasDefault = true
			d.add(clause, times, "default of a switch")
			continue
		}
		d.add(clause, times, "case ", clause.List[0], clause.List[len(clause.List)-1])
	}
	if !hasDefault && len(clauses) > 0 {
		first := clauses[0].(*ast.CaseClause)
		d.add(s, past, "past case ", first.List[0], first.List[len(first.List)-1])
	}
}

// selects adds the ways of a select.
func (d *decider) selects(clauses []ast.Stmt) {
	for _, stmt := range clauses {
		clause := stmt.(*ast.CommClause)
		if clause.Comm == nil {
			d.add(clause, d.times(clause.Colon+1), "default of a select")
		} else {
			d.add(clause, d.times(clause.Colon+1), "", clause.Comm)
		}
	}
}

const decisionsProgram = `package decisions

func decide(n int, done chan int, x any) (r int) {
	if n > 100 {
	}
	if m := func() int { return n }(); m > 5 {
		r++
	} else if k := n + 1; k > 3 {
		r--
	} else if n < 0 {
	}
	for range n {
	}
	for i := 0; i < n; i++ {
		if i == 2 {
			continue
		}
	}
	switch n {
	case 1:
	case 2, 3:
		r = 2
	}
	switch x.(type) {
	case nil:
	case int:
		r = 3
	default:
	}
	select {
	case <-done:
	default:
	}
	func() {
		if n > 2 {
			r = 4
		}
		if n > 2 {
			r = 5
		}
		for n > 200 {
		}
	}()
	return r
}
`

const decisionsTest = `package decisions

import "testing"

func TestDecide(t *testing.T) {
	for n := range 10 {
		decide(n, nil, n)
	}
}
`

func TestEachWayIsCounted(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module decisions\n\ngo 1.25\n", "decide.go": decisionsProgram, "decide_test.go": decisionsTest} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	profile := filepath.Join(dir, "profile")
	run := exec.Command("go", "test", "-covermode=count", "-coverprofile="+profile, ".")
	run.Dir, run.Env = dir, append(os.Environ(), "GOWORK=off")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var found []string
	for _, w := range parseInto(t, token.NewFileSet(), "decide.go", decisionsProgram).ways("decide.go", "decisions", readCounted(t, profile)) {
		found = append(found, fmt.Sprintf("%d %s", w.times, strings.TrimPrefix(w.key(), "decide.go decide ")))
	}
	require.Equal(t, []string{
		"0 n > 100", "10 unless n > 100",
		"4 m > 5", "6 unless m > 5", "3 k > 3", "3 unless k > 3", "0 n < 0", "3 unless n < 0",
		"45 for range n", "45 for i < n", "7 i == 2", "38 unless i == 2",
		"7 past case 1", "1 case 1", "2 case 2, 3",
		"0 case nil", "10 case int", "0 default of a switch",
		"0 <-done", "10 default of a select",
		"7 n > 2", "3 unless n > 2", "7 n > 2 (2)", "3 unless n > 2 (2)", "0 for n > 200",
	}, found)
}
