package internal_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	{name: "plain", pure: true},
	{name: "owner"},
	{name: "digestmd5", pure: true},
	{name: "clock"},
	{name: "recipe", pure: true},
	{name: "lease"},
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

// partOf finds a part of a session timeout, or of what a lease has left.
var partOf = regexp.MustCompile(`(?i)(timeout(\(\))?\)*|\bleft) ?(/|\*[^,;]*/) ?[0-9]`)

// What depends on a part of the session timeout is decided in one package.
func TestPartsOfTheSessionTimeoutStandInTheLease(t *testing.T) {
	dirs := []string{"..", "../membership", "../election"}
	for _, room := range rooms {
		if room.name != "lease" {
			dirs = append(dirs, room.name)
		}
	}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			if found := partOf.Find(text); !strings.HasSuffix(name, "_test.go") && found != nil {
				t.Errorf("%s has %s", name, found)
			}
		}
	}
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

// What the larger tests need is required by the module of their own, and not by the library's
// users.
func TestTheLibraryRequiresLittle(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json", "../go.mod").Output()
	require.NoError(t, err)
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(out, &file))
	var direct []string
	for _, r := range file.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	require.ElementsMatch(t, []string{
		"github.com/go-zookeeper/zk", "golang.org/x/sync", "github.com/petermattis/goid",
		"github.com/stretchr/testify", "go.uber.org/goleak",
	}, direct)
}

// What is tested on Apache ZooKeeper is tested in the module test: the library's own tests need
// no Java.
func TestNoTestOfThisModuleStartsAServer(t *testing.T) {
	starts := regexp.MustCompile(`\bapachezk\.(?:Run|Start)\(`)
	tests := 0
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "..":
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, "_test.go"):
			tests++
			text, err := os.ReadFile(path)
			if starts.Match(text) {
				t.Errorf("%s starts a server", path)
			}
			return err
		}
		return nil
	}))
	require.Greater(t, tests, 30, "the tests are found")
}
