package mutants

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// conditions: each is negated, holds always, and never holds. A loop that never ends is found
// only by a timeout, and is left out.
func conditions(s *site) []change {
	c := s.condition()
	if c == nil {
		return nil
	}
	changes := []change{{"not", c, s.negated(c)}, {"never", c, "false && (" + s.text(c) + ")"}}
	if _, loop := s.above(1).(*ast.ForStmt); !loop {
		changes = append(changes, change{"always", c, "true || (" + s.text(c) + ")"})
	}
	return changes
}

// condition returns the node if it decides about a branch.
func (s *site) condition() ast.Expr {
	switch n := s.above(1).(type) {
	case *ast.IfStmt:
		if n.Cond == s.node() {
			return n.Cond
		}
	case *ast.ForStmt:
		if n.Cond != nil && n.Cond == s.node() {
			return n.Cond
		}
	case *ast.CaseClause:
		sw, ok := s.above(3).(*ast.SwitchStmt)
		c, expr := s.node().(ast.Expr)
		if ok && expr && sw.Tag == nil && slices.Contains(n.List, c) {
			return c
		}
	}
	return nil
}

func (s *site) negated(e ast.Expr) string {
	if not, ok := e.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		return s.text(not.X)
	}
	return "!(" + s.text(e) + ")"
}

// operands: each one of && and || is dropped.
func operands(s *site) []change {
	b, ok := s.node().(*ast.BinaryExpr)
	if !ok {
		return nil
	}
	dropped := ""
	switch b.Op {
	case token.LAND:
		dropped = "true || "
	case token.LOR:
		dropped = "false && "
	default:
		return nil
	}
	return []change{
		{"left", b.X, "(" + dropped + "(" + s.text(b.X) + "))"},
		{"right", b.Y, "(" + dropped + "(" + s.text(b.Y) + "))"},
	}
}

// removals: each statement that does something is left out, but what has to do with a mutex:
// races are the race detector's.
func removals(s *site) []change {
	if !s.inList(0) {
		return nil
	}
	switch n := s.node().(type) {
	case *ast.ExprStmt:
		if s.locks(n.X) {
			return nil
		}
	case *ast.DeferStmt:
		if s.locks(n.Call) {
			return nil
		}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE || allBlank(n.Lhs) {
			return nil
		}
	case *ast.ReturnStmt:
		if len(n.Results) > 0 {
			return nil
		}
	case *ast.SendStmt, *ast.IncDecStmt, *ast.GoStmt, *ast.BranchStmt:
	default:
		return nil
	}
	return []change{{"remove", s.node(), "{" + s.uses(s.node()) + "}"}}
}

func allBlank(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

// locks reports whether a call locks or unlocks a mutex.
func (s *site) locks(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := s.called(call).(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "sync" && strings.HasSuffix(strings.ToLower(f.Name()), "lock")
}

// uses are statements that do nothing, but use the function's variables that a node uses.
func (s *site) uses(n ast.Node) (text string) {
	used := map[types.Object]bool{}
	ast.Inspect(n, func(in ast.Node) bool {
		name, ok := in.(*ast.Ident)
		if !ok {
			return true
		}
		v, ok := s.info.Uses[name].(*types.Var)
		inFunction := ok && !v.IsField() && v.Pos() >= s.Pos() && v.Pos() < s.End()
		if inFunction && (v.Pos() < n.Pos() || v.Pos() >= n.End()) && !used[v] {
			used[v] = true
			text += " _ = " + v.Name() + "; "
		}
		return true
	})
	return text
}

// clauses: a select does not listen to one of its channels, a switch has not one of its cases.
func clauses(s *site) []change {
	switch n := s.node().(type) {
	case *ast.CommClause:
		if n.Comm == nil {
			return []change{{"clause", n, ""}}
		}
		if send, ok := n.Comm.(*ast.SendStmt); ok {
			return []change{{"deaf", send.Chan, "neverSent(" + s.text(send.Chan) + ")"}}
		}
		return s.deaf(n.Comm)
	case *ast.CaseClause:
		sw, ok := s.above(2).(*ast.SwitchStmt)
		if !ok || sw.Tag != nil || n.List == nil {
			return []change{{"clause", n, ""}}
		}
	}
	return nil
}

// deaf has the receive of a select get nothing.
func (s *site) deaf(comm ast.Stmt) (changes []change) {
	ast.Inspect(comm, func(n ast.Node) bool {
		receive, ok := n.(*ast.UnaryExpr)
		if ok && receive.Op == token.ARROW && changes == nil {
			changes = []change{{"deaf", receive.X, "neverReceived(" + s.text(receive.X) + ")"}}
		}
		return changes == nil
	})
	return changes
}

// returns: what a function reports is the opposite, and an error is none.
func returns(s *site) (changes []change) {
	ret, ok := s.node().(*ast.ReturnStmt)
	if !ok {
		return nil
	}
	for _, e := range ret.Results {
		t := s.info.TypeOf(e)
		switch {
		case s.isConstant(e, "nil"), s.isConstant(e, "true"), s.isConstant(e, "false"):
		case isBoolean(t):
			changes = append(changes, change{"opposite", e, s.negated(e)})
		case types.Identical(t, types.Universe.Lookup("error").Type()):
			changes = append(changes, change{"no-error", e, "nil"})
		}
	}
	return changes
}

// flips: each true is false, each false is true.
func flips(s *site) []change {
	switch {
	case s.isConstant(s.node(), "true"):
		return []change{{"flip", s.node(), "false"}}
	case s.isConstant(s.node(), "false"):
		return []change{{"flip", s.node(), "true"}}
	}
	return nil
}

// isConstant reports whether n is what every program calls by that name.
func (s *site) isConstant(n ast.Node, name string) bool {
	ident, ok := n.(*ast.Ident)
	return ok && s.info.Uses[ident] == types.Universe.Lookup(name)
}

func isBoolean(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}
