package queue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notFinal are the errors of ours that no try is ended by, as they are, and why.
var notFinal = map[string]string{
	"ErrLocked":      "Try returns it as client.Permanent",
	"ErrLost":        "a semaphore returns it as client.Permanent",
	"ErrReleased":    "it is what a Hold says",
	"errLeaseOver":   "a place that is lost with its session is taken anew",
	"errLeftBehind":  "the nodes will be gone",
	"errNodeDeleted": "a place that is lost is taken anew",
	"errNotThere":    "the create is made again",
}

// Retry makes another try for an error that it does not know, for ever perhaps.
func TestAnErrorIsFinalOrAnotherTryIsKnownToMendIt(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	found := make(map[string]string)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if v, is := n.(*ast.ValueSpec); is && len(v.Values) == 1 && isMade(v.Values[0]) {
				name := v.Names[0].Name
				require.Contains(t, notFinal, name, "make it a client.Final, unless another try mends it: then it belongs in this list")
				found[name] = notFinal[name]
			}
			return true
		})
	}
	require.Equal(t, notFinal, found)
}

// isMade reports whether an expression is a call of errors.New or fmt.Errorf.
func isMade(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (f.Sel.Name == "New" || f.Sel.Name == "Errorf")
}
