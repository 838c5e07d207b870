package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// packages are the rooms as the compiler sees them.
type packages struct {
	positions *token.FileSet
	importer  types.Importer
	rooms     []*loaded
}

// loaded is a room, with all files of its package.
type loaded struct {
	room
	path    string             // by which it is imported
	sources map[string]*source // by their files in the module
	info    *types.Info
}

// load reads the rooms, and checks their types.
func load(t *testing.T, rooms []room) *packages {
	t.Helper()
	p := &packages{positions: token.NewFileSet()}
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles"}
	for _, r := range rooms {
		args = append(args, "./"+r.directory)
	}
	list := exec.Command("go", args...)
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	exports, files := map[string]string{}, map[string]listed{} // by import path, and by directory
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := in.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[l.ImportPath], files[l.Dir] = l.Export, l
	}
	p.importer = importer.ForCompiler(p.positions, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, r := range rooms {
		dir, err := filepath.Abs(filepath.Join(root, r.directory))
		require.NoError(t, err)
		p.rooms = append(p.rooms, p.read(t, r, files[dir].ImportPath, files[dir].GoFiles))
	}
	return p
}

func (p *packages) read(t *testing.T, r room, importPath string, names []string) *loaded {
	t.Helper()
	require.Subset(t, names, r.files)
	l := &loaded{room: r, path: importPath, sources: map[string]*source{}}
	for _, name := range names {
		file := path.Join(r.directory, name)
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		l.sources[file] = parseInto(t, p.positions, file, string(text))
	}
	info, problems := p.check(l.path, l.asts())
	require.Empty(t, problems)
	l.info = info
	return l
}

func (l *loaded) asts() (files []*ast.File) {
	for _, s := range l.sources {
		files = append(files, s.file)
	}
	return files
}

// check checks the types of a package, and returns where they are wrong.
func (p *packages) check(path string, files []*ast.File) (*types.Info, []types.Error) {
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	var problems []types.Error
	config := types.Config{Importer: p.importer, Error: func(err error) { problems = append(problems, err.(types.Error)) }}
	config.Check(path, p.positions, files, info) //nolint:errcheck // Error has been told
	return info, problems
}

// mutantIn finds the number in the name that a function has in a mutant.
var mutantIn = regexp.MustCompile(`_mutant(\d+)$`)

// illTyped returns the numbers of the mutants in the room's combined files that do not compile.
func (p *packages) illTyped(t *testing.T, l *loaded) map[int]bool {
	t.Helper()
	var files []*ast.File
	for file, s := range l.sources {
		files = append(files, parseInto(t, p.positions, "combined "+file, s.combined()).file)
	}
	files = append(files, parseInto(t, p.positions, "chosen", l.chooser()).file)
	_, problems := p.check(l.path, files)
	wrong := map[int]bool{}
	for _, problem := range problems {
		number := numberAt(files, problem.Pos)
		require.NotZero(t, number, "%v", problem)
		wrong[number] = true
	}
	return wrong
}

// numberAt returns the number of the mutant in whose function pos is.
func numberAt(files []*ast.File, pos token.Pos) int {
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || pos < f.Pos() || pos >= f.End() {
				continue
			}
			if m := mutantIn.FindStringSubmatch(f.Name.Name); m != nil {
				number, _ := strconv.Atoi(m[1])
				return number
			}
		}
	}
	return 0
}
