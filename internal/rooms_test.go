package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/zklock/zklock"

// rooms are the packages of the library below its root, from the lowest up: none imports
// one that comes after it. The pure ones import none but those they name.
var rooms = []struct {
	name string
	pure bool
	uses []string
}{
	{name: "goid"},
	{name: "clock"},
	{name: "recipe", pure: true},
	{name: "lease", pure: true, uses: []string{"internal/clock"}},
	{name: "backoff"},
	{name: "latch"},
	{name: "callback"},
	{name: "wire"},
	{name: "client"},
	{name: "queue"},
}

func TestImportsGoDown(t *testing.T) {
	var lower []string
	for _, room := range rooms {
		for _, path := range imports(t, room.name) {
			ours, isOurs := strings.CutPrefix(path, module+"/")
			switch {
			case path == module, isOurs && room.pure && !slices.Contains(room.uses, ours),
				isOurs && !room.pure && !slices.Contains(lower, ours):
				t.Errorf("internal/%s imports %s", room.name, path)
			case room.pure && slices.Contains([]string{"context", "io", "net", "os", "sync"}, path),
				room.pure && strings.HasSuffix(path, "go-zookeeper/zk"):
				t.Errorf("internal/%s is to be pure, and imports %s", room.name, path)
			}
		}
		lower = append(lower, "internal/"+room.name)
	}
}

// imports returns what the package's own files import.
func imports(t *testing.T, room string) (paths []string) {
	for _, file := range parsed(t, room, parser.ImportsOnly) {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			paths = append(paths, path)
		}
	}
	return paths
}

// parsed returns the package's own files, those of its tests left out.
func parsed(t *testing.T, room string, mode parser.Mode) (files []*ast.File) {
	names, err := filepath.Glob(filepath.Join(room, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, mode)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}

func TestEveryMutexSaysWhatItGuards(t *testing.T) {
	mutexes := 0
	for _, room := range rooms {
		for _, file := range parsed(t, room.name, parser.ParseComments) {
			ast.Inspect(file, func(n ast.Node) bool {
				field, isField := n.(*ast.Field)
				if !isField || !isMutex(field.Type) {
					return true
				}
				mutexes++
				if !strings.Contains(field.Doc.Text()+field.Comment.Text(), "guards") {
					t.Errorf("internal/%s: a mutex of package %s does not say what it guards", room.name, file.Name)
				}
				return true
			})
		}
	}
	require.Greater(t, mutexes, 10, "the mutexes are found")
}

// isMutex reports whether x is sync.Mutex or sync.RWMutex.
func isMutex(x ast.Expr) bool {
	selector, ok := x.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(selector.Sel.Name, "Mutex")
}
