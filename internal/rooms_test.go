package internal_test

import (
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

// imports returns what the package's own files import, those of its tests left out.
func imports(t *testing.T, room string) (paths []string) {
	files, err := filepath.Glob(filepath.Join(room, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			paths = append(paths, path)
		}
	}
	return paths
}
