package mutants

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// moved are comparisons with their boundaries moved.
var moved = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}

// bounds: each boundary is moved.
func bounds(s *site) []change {
	if b, ok := s.node().(*ast.BinaryExpr); ok && moved[b.Op] != 0 {
		return []change{{"bound", b, s.with(b, moved[b.Op])}}
	}
	return nil
}

// with is a binary expression with another operator.
func (s *site) with(b *ast.BinaryExpr, op token.Token) string {
	return s.text(b.X) + " " + op.String() + " " + s.text(b.Y)
}

var (
	inverse = map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL}
	// other is what takes the same arguments, and returns the opposite.
	other = map[string]string{"min": "max", "max": "min", "Least": "Most", "Most": "Least"}
)

// arithmetic: each sum is a difference, each product a quotient, each least a most.
func arithmetic(s *site) []change {
	switch n := s.node().(type) {
	case *ast.BinaryExpr:
		if inverse[n.Op] != 0 && isNumber(s.info.TypeOf(n)) {
			return []change{{"inverse", n, s.with(n, inverse[n.Op])}}
		}
	case *ast.CallExpr:
		name, ok := n.Fun.(*ast.Ident)
		if sel, method := n.Fun.(*ast.SelectorExpr); method {
			name, ok = sel.Sel, true
		}
		if ok && other[name.Name] != "" {
			return []change{{"inverse", name, other[name.Name]}}
		}
	}
	return nil
}

func isNumber(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

// numbers: each constant of a package is larger and smaller by a tenth where it is used, and
// each number in a calculation by one.
func numbers(s *site) []change {
	switch n := s.node().(type) {
	case *ast.Ident:
		c, ok := s.info.Uses[n].(*types.Const)
		if _, selected := s.above(1).(*ast.SelectorExpr); !ok || selected {
			return nil
		}
		return s.tenths(n, c)
	case *ast.SelectorExpr:
		if c, ok := s.info.Uses[n.Sel].(*types.Const); ok {
			return s.tenths(n, c)
		}
	case *ast.BasicLit:
		if _, calculated := s.above(1).(*ast.BinaryExpr); calculated && n.Kind == token.INT {
			return []change{{"one-more", n, "(" + n.Value + " + 1)"}}
		}
	}
	return nil
}

// tenths: a constant that is an amount, and no name for something, is changed.
func (s *site) tenths(n ast.Node, c *types.Const) []change {
	if c.Pkg() == nil || c.Parent() != c.Pkg().Scope() || !isAmount(c) {
		return nil
	}
	more, less := " * 11 / 10)", " * 9 / 10)"
	if v, exact := constant.Int64Val(constant.ToInt(c.Val())); exact && v < 10 {
		more, less = " + 1)", " - 1)"
	}
	return []change{{"tenth-more", n, "(" + s.text(n) + more}, {"tenth-less", n, "(" + s.text(n) + less}}
}

// isAmount reports whether a constant is a number or a duration of ours. A number with a type
// of its own is a name.
func isAmount(c *types.Const) bool {
	if b, ok := c.Type().(*types.Basic); ok {
		return b.Info()&types.IsNumeric != 0 && b.Info()&types.IsUntyped != 0 && !strings.HasSuffix(c.Pkg().Path(), "go-zookeeper/zk")
	}
	return typeName(c.Type()) == "Duration" && c.Pkg().Path() != "time"
}
