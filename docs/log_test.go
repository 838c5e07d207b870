package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// messages are the methods of a logger that log, with the place of the message among
// their arguments.
var messages = map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "Log": 2}

func TestTheLogHasTheKeysThatAreExplainedAndNoOthers(t *testing.T) {
	explained := make(map[string]bool)
	rows := regexp.MustCompile("(?m)^\\| (`\\w+`(?:, `\\w+`)*) \\|")
	_, table, found := strings.Cut(page(t, "operations.md"), "| key | what it says |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range rows.FindAllStringSubmatch(table, -1) {
		for _, key := range strings.Split(row[1], ", ") {
			explained[strings.Trim(key, "`")] = true
		}
	}
	used := make(map[string]bool)
	for _, key := range logKeys(t, "..", "../membership", "../internal/wire", "../internal/client", "../internal/queue") {
		require.True(t, explained[key], "the key %s is explained in operations.md", key)
		used[key] = true
	}
	require.Equal(t, explained, used, "each key that is explained is used")
}

// logKeys returns the keys of all log calls in the packages. A function that
// gathers them in a []any before its call is looked into.
func logKeys(t *testing.T, dirs ...string) (keys []string) {
	t.Helper()
	calls := 0
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, declared := range file.Decls {
				attributes := attributesIn(declared)
				calls += len(attributes)
				for _, list := range attributes {
					keys = append(keys, keysOf(t, name, list)...)
				}
			}
		}
	}
	require.Greater(t, calls, 8, "the log calls are found")
	return keys
}

// attributesIn returns the keys and values of each log call in a declaration, and
// of each list that it gathers for one.
func attributesIn(declared ast.Decl) (lists [][]ast.Expr) {
	var gathered [][]ast.Expr
	gathers := false
	ast.Inspect(declared, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				at, logs := messages[f.Sel.Name]
				if !logs || !isLogger(f.X) {
					break
				}
				if n.Ellipsis.IsValid() {
					gathers = true
				} else {
					lists = append(lists, n.Args[at+1:])
				}
			case *ast.Ident:
				if f.Name == "append" {
					gathered = append(gathered, n.Args[1:])
				}
			}
		case *ast.CompositeLit:
			gathered = append(gathered, n.Elts)
		}
		return true
	})
	if gathers {
		lists = append(lists, gathered...)
	}
	return lists
}

// isLogger tells whether an expression is a field or variable named log, or Log.
func isLogger(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "log")
	case *ast.Ident:
		return strings.EqualFold(x.Name, "log")
	}
	return false
}

func keysOf(t *testing.T, file string, attributes []ast.Expr) (keys []string) {
	t.Helper()
	for pair := range slices.Chunk(attributes, 2) {
		require.Len(t, pair, 2, "%s: a key without a value", file)
		literal, ok := pair[0].(*ast.BasicLit)
		require.True(t, ok && literal.Kind == token.STRING, "%s: a key is a string in place", file)
		key, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		keys = append(keys, key)
	}
	return keys
}
