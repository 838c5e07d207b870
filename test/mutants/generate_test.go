package mutants

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// generated is a mutant that an operator has made of one place in a function.
type generated struct {
	room     string
	file     string
	line     int
	of       string // the function
	operator string
	nth      int // of this operator's in the function, from 1 on
	old, new string

	anchor   token.Position // of the statement that is reached if the place may be
	logs     bool           // the place only logs, or keeps what a log may say
	function *function
	text     string // of the function
	number   int    // in the binaries, from 1 on
}

// key names the mutant for as long as its function has such places in this order.
func (g *generated) key() string {
	return fmt.Sprintf("%s %s %s %d", g.file, g.of, g.operator, g.nth)
}

func (g *generated) String() string {
	return fmt.Sprintf("%s:%d %s: %s %d: %s → %s", g.file, g.line, g.of, g.operator, g.nth, shown(g.old), shown(g.new))
}

// shown is a text of a program in one line.
func shown(text string) string {
	if text == "" {
		return "nothing"
	}
	short := []rune(strings.Join(strings.Fields(text), " "))
	if len(short) > 80 {
		short = append(short[:79], '…')
	}
	return string(short)
}

// change is what an operator makes of a place.
type change struct {
	operator string
	of       ast.Node
	new      string
}

// site is a place in a function, where operators may change something.
type site struct {
	*function
	info *types.Info
	path []ast.Node // from the function's body to the place
}

// operators are the ways to change a program.
var operators = []func(*site) []change{
	conditions, operands, removals, clauses, returns, flips, bounds, arithmetic, numbers, requests, requestFields,
}

// generate returns all mutants of the rooms, by file and place.
func (p *packages) generate(t *testing.T) (all []*generated) {
	t.Helper()
	for _, l := range p.rooms {
		first := len(all)
		for _, file := range slices.Sorted(maps.Keys(l.sources)) {
			s := l.sources[file]
			if !l.has(file) {
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(s.functions)) {
				for _, g := range mutate(s.functions[key], l.info) {
					g.room, g.file, g.of, g.number = l.directory, file, key, len(all)+1
					all = append(all, g)
				}
			}
		}
		all = append(all[:first], p.compiled(t, l, all[first:])...)
	}
	return all
}

// compiled returns those of a room's mutants that compile, and gives them numbers.
func (p *packages) compiled(t *testing.T, l *loaded, mutants []*generated) []*generated {
	t.Helper()
	insert(mutants)
	wrong := p.illTyped(t, l)
	remove(mutants)
	return slices.DeleteFunc(mutants, func(g *generated) bool { return wrong[g.number] })
}

// insert puts mutants into their files, as combined has them.
func insert(mutants []*generated) {
	for _, g := range mutants {
		g.function.variants = append(g.function.variants, variant{g.number, g.text})
	}
}

// remove takes them out again.
func remove(mutants []*generated) {
	for _, g := range mutants {
		g.function.variants = nil
	}
}

// mutate returns the mutants of a function in the order of their places.
func mutate(f *function, info *types.Info) (mutants []*generated) {
	if f.Body == nil {
		return nil
	}
	s := &site{function: f, info: info}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if n == nil {
			s.path = s.path[:len(s.path)-1]
			return true
		}
		s.path = append(s.path, n)
		for _, operator := range operators {
			for _, c := range operator(s) {
				mutants = append(mutants, s.mutant(c))
			}
		}
		return true
	})
	slices.SortStableFunc(mutants, func(a, b *generated) int { return cmp.Compare(a.line, b.line) })
	return numbered(mutants)
}

// numbered counts each operator's mutants, and leaves out those whose text another one has.
func numbered(mutants []*generated) (different []*generated) {
	seen, count := map[string]bool{}, map[string]int{}
	for _, g := range mutants {
		if !seen[g.text] {
			seen[g.text] = true
			count[g.operator]++
			g.nth = count[g.operator]
			different = append(different, g)
		}
	}
	return different
}

// mutant is the function with a change.
func (s *site) mutant(c change) *generated {
	from, to := c.of.Pos(), c.of.End()
	anchor := s.statement()
	return &generated{
		line: s.positions.Position(from).Line, operator: c.operator,
		old: s.part(from, to), new: c.new,
		anchor: s.positions.Position(anchor.Pos()), logs: s.onlyLogs(anchor),
		function: s.function,
		text:     s.part(s.Pos(), from) + c.new + s.part(to, s.End()),
	}
}

// node is where the site is.
func (s *site) node() ast.Node { return s.path[len(s.path)-1] }

// above returns what is so many steps above the node, nil above the function's body.
func (s *site) above(steps int) ast.Node {
	if i := len(s.path) - 1 - steps; i >= 0 {
		return s.path[i]
	}
	return nil
}

// statement returns the innermost statement of a list that the node is in.
func (s *site) statement() ast.Node {
	for i := range s.path {
		if s.inList(i) {
			return s.above(i)
		}
	}
	return s.Body
}

// inList reports whether what is so many steps above the node is one of a list of statements,
// and no clause.
func (s *site) inList(steps int) bool {
	n, ok := s.above(steps).(ast.Stmt)
	if !ok {
		return false
	}
	switch n.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return false
	}
	switch list := s.above(steps + 1).(type) {
	case *ast.BlockStmt:
		return true
	case *ast.CaseClause:
		return true
	case *ast.CommClause:
		return list.Comm != n
	}
	return false
}

// text is a node as the source has it.
func (s *site) text(n ast.Node) string { return s.part(n.Pos(), n.End()) }

// onlyLogs reports whether a statement is sure to do no more.
func (s *site) onlyLogs(statement ast.Node) bool {
	e, ok := statement.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := s.called(call).(*types.Func)
	if !ok {
		return false
	}
	if recv := f.Signature().Recv(); recv != nil {
		return slices.Contains([]string{"Log", "Journal", "Logger"}, typeName(recv.Type()))
	}
	return f.Pkg().Name() == "client" && slices.Contains([]string{"WaitsFor", "FailedTry", "Queues"}, f.Name())
}

// called returns what a call calls, nil if it has no name.
func (s *site) called(call *ast.CallExpr) types.Object {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return s.info.Uses[f]
	case *ast.SelectorExpr:
		return s.info.Uses[f.Sel]
	}
	return nil
}

// typeName is the name of a type, or of what it points to.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}
