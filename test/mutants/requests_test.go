package mutants

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// requests: each argument of a request to ZooKeeper is another one.
func requests(s *site) (changes []change) {
	call, ok := s.node().(*ast.CallExpr)
	if !ok {
		return nil
	}
	f, ok := s.called(call).(*types.Func)
	if !ok || f.Signature().Recv() == nil || typeName(f.Signature().Recv().Type()) != "Conn" || f.Pkg().Name() != "zk" {
		return nil
	}
	params := f.Signature().Params()
	for i, arg := range call.Args {
		p := params.At(min(i, params.Len()-1))
		switch {
		case !f.Signature().Variadic() || i < params.Len()-1:
			changes = append(changes, s.argument(p, arg)...)
		case call.Ellipsis.IsValid():
			ops := s.text(arg)
			changes = append(changes, change{"request", arg, "(" + ops + ")[1:]"},
				change{"request", arg, "(" + ops + ")[:len(" + ops + ")-1]"})
		default:
			changes = append(changes, change{"request", call, s.without(call, i)})
		}
	}
	return changes
}

// without is a call without one of its arguments.
func (s *site) without(call *ast.CallExpr, i int) string {
	var args []string
	for _, a := range slices.Delete(slices.Clone(call.Args), i, i+1) {
		args = append(args, s.text(a))
	}
	return s.text(call.Fun) + "(" + strings.Join(args, ", ") + ")"
}

// requestFields: each field of what is asked for in a transaction, of a request to be seen on
// the wire, and of what is to be watched, is another one.
func requestFields(s *site) (changes []change) {
	lit, ok := s.node().(*ast.CompositeLit)
	if !ok {
		return nil
	}
	of := s.info.TypeOf(lit)
	fields, ok := of.Underlying().(*types.Struct)
	if name := typeName(of); !ok || !strings.HasSuffix(name, "Request") && name != "WatchKey" {
		return nil
	}
	for i, e := range lit.Elts {
		field := fields.Field(i)
		if kv, keyed := e.(*ast.KeyValueExpr); keyed {
			object, _ := s.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
			field, e = object, kv.Value
		}
		changes = append(changes, s.argument(field, e)...)
	}
	return changes
}

// argument changes what is given for a parameter, or for a field.
func (s *site) argument(p *types.Var, arg ast.Expr) (changes []change) {
	to := func(texts ...string) {
		for _, text := range texts {
			changes = append(changes, change{"request", arg, text})
		}
	}
	text := "(" + s.text(arg) + ")"
	switch t := p.Type().String(); {
	case t == "string":
		to(text + ` + "-"`)
	case t == "bool":
		to("!" + text)
	case t == "int32" && strings.EqualFold(p.Name(), "flags"):
		to(text+"^zk.FlagEphemeral", text+"^zk.FlagSequence")
	case t == "int32" && strings.EqualFold(p.Name(), "version"):
		if text == "(-1)" {
			to("0")
		} else {
			to("-1")
		}
	case t == "int32":
		to(text + "+1")
	case t == "[]byte" && !s.isConstant(arg, "nil"):
		to("nil")
	case t == "[]byte":
		to("[]byte{1}")
	case strings.HasSuffix(t, ".ACL"):
		to("zk.WorldACL(zk.PermRead)")
	}
	return changes
}
