package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One binary has all mutants that differ from the library inside functions only:
// each such function is there once more for each of its mutants, and begins by asking
// which of them it is to be. A mutant of anything else, a constant, is built alone.

// chosen is the environment variable that says which mutant of a binary runs.
const chosen = "ZKLOCK_MUTANT"

// chooser goes into each package that has mutants.
const chooser = `package %s

import (
	"os"
	"strconv"
)

var chosenMutant, _ = strconv.Atoi(os.Getenv("` + chosen + `"))

// Mutants that do not listen to a channel any more.
func neverReceived[T any](<-chan T) <-chan T { return nil }
func neverSent[T any](chan<- T) chan<- T     { return nil }
`

func (l *loaded) chooser() string {
	for _, s := range l.sources {
		return fmt.Sprintf(chooser, s.file.Name.Name)
	}
	panic("a package without files")
}

// binaries are the tests of one package, with mutants.
type binaries struct {
	directory string // of the package
	combined  string
	number    map[string]int // of the mutants that are in it, by name, from 1 on
}

// combine compiles the tests of the package in that directory, with all mutants that
// can be in one binary.
func combine(t *testing.T, of string, mutants []mutant) binaries {
	t.Helper()
	texts, number := merge(t, mutants)
	return binaries{directory: of, number: number, combined: compile(t, of, overlay(t, texts))}
}

// merge returns the files with all mutants that can be in one binary, by their names from the root,
// and the numbers of these mutants.
func merge(t *testing.T, mutants []mutant) (texts map[string]string, number map[string]int) {
	t.Helper()
	sources := map[string]*source{} // by their files from the root
	texts, number = map[string]string{}, map[string]int{}
	for _, m := range mutants {
		changed, ok := m.functions(t, sources)
		if !ok {
			continue
		}
		number[m.name] = len(number) + 1
		for f, body := range changed {
			f.variants = append(f.variants, variant{number[m.name], body})
		}
	}
	for file, s := range sources {
		texts[file] = s.combined()
		texts[filepath.Join(filepath.Dir(file), "chosen_mutant.go")] = fmt.Sprintf(chooser, s.file.Name.Name)
	}
	return texts, number
}

// of returns the command that runs a binary with the mutant, or with none if it changes
// nothing.
func (b binaries) of(t *testing.T, m mutant, args ...string) *exec.Cmd {
	t.Helper()
	binary, number := b.combined, b.number[m.name]
	if number == 0 && len(m.changes) > 0 {
		binary = compile(t, b.directory, overlay(t, m.texts(t)))
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = b.directory
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", chosen, number))
	return cmd
}

// compile compiles the tests of the package in that directory, with an overlay.
func compile(t *testing.T, of, overlay string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "mutants.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary)
	build.Dir = of // whose module it is
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// overlay writes files with other texts, and returns what leads the go command to them.
func overlay(t *testing.T, texts map[string]string) (file string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range texts {
		at, err := filepath.Abs(filepath.Join(root, name))
		require.NoError(t, err)
		replace[at] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		require.NoError(t, os.WriteFile(replace[at], []byte(text), 0o600))
	}
	orders, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, orders, 0o600))
	return file
}

// source is a file of the library, and what mutants make of its functions.
type source struct {
	text      string
	positions *token.FileSet
	file      *ast.File
	functions map[string]*function
	imports   []string // that only mutants need
}

// function is one that mutants change.
type function struct {
	*source
	*ast.FuncDecl
	variants []variant
}

// variant is a function's text in a mutant.
type variant struct {
	mutant int
	text   string
}

func parse(t *testing.T, text string) *source {
	t.Helper()
	return parseInto(t, token.NewFileSet(), "", text)
}

// parseInto is parse for a file whose positions are to be told from those of others.
func parseInto(t *testing.T, positions *token.FileSet, name, text string) *source {
	t.Helper()
	s := &source{text: text, positions: positions, functions: map[string]*function{}}
	file, err := parser.ParseFile(positions, name, text, 0)
	require.NoError(t, err)
	s.file = file
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.functions[s.key(f)] = &function{source: s, FuncDecl: f}
		}
	}
	return s
}

// functions returns the functions that a mutant changes, with what stands in their
// places after their names; false if it changes anything else.
func (m mutant) functions(t *testing.T, sources map[string]*source) (map[*function]string, bool) {
	t.Helper()
	changed, imports := map[*function]string{}, map[*source][]string{}
	for file, text := range m.texts(t) {
		if sources[file] == nil {
			original, err := os.ReadFile(filepath.Join(root, file))
			require.NoError(t, err)
			sources[file] = parse(t, string(original))
		}
		s, mutated := sources[file], parse(t, text)
		if s.rest() != mutated.rest() {
			return nil, false
		}
		for _, i := range mutated.imported() {
			if !slices.Contains(append(s.imported(), s.imports...), i) {
				imports[s] = append(imports[s], i)
			}
		}
		for key, f := range s.functions {
			if now := mutated.functions[key].all(); now != f.all() {
				changed[f] = now
			}
		}
	}
	for s, paths := range imports {
		s.imports = append(s.imports, paths...)
	}
	return changed, true
}

func (s *source) part(from, to token.Pos) string {
	return s.text[s.positions.Position(from).Offset:s.positions.Position(to).Offset]
}

func (s *source) key(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return s.part(f.Recv.List[0].Type.Pos(), f.Recv.List[0].Type.End()) + "." + f.Name.Name
}

func (s *source) imported() (paths []string) {
	for _, i := range s.file.Imports {
		paths = append(paths, i.Path.Value)
	}
	return paths
}

// rest is what is declared beside functions' bodies and imports.
func (s *source) rest() string {
	parts := slices.Sorted(maps.Keys(s.functions))
	for _, d := range s.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.IMPORT {
			parts = append(parts, s.part(g.Pos(), g.End()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.functions)) {
		f := s.functions[key]
		parts = append(parts, f.part(f.Type.Pos(), f.Type.End()))
	}
	return strings.Join(parts, "\n")
}

// all is the text of a function.
func (f *function) all() string { return f.part(f.Pos(), f.End()) }

// combined is the file with the functions of all mutants.
func (s *source) combined() string {
	insert := map[int]string{} // by offset
	at := func(p token.Pos, text string) { insert[s.positions.Position(p).Offset] += text }
	for _, i := range s.imports {
		at(s.file.Name.End(), "; import "+i)
	}
	text := ""
	for _, key := range slices.Sorted(maps.Keys(s.functions)) {
		f := s.functions[key]
		if len(f.variants) == 0 {
			continue
		}
		f.nameParameters(at)
		cases := ""
		for _, v := range f.variants {
			name := variantOf(f.Name.Name, v.mutant)
			cases += fmt.Sprintf(" case %d: %s;", v.mutant, f.call(name))
			before := len(f.part(f.Pos(), f.Name.Pos()))
			text += "\n" + v.text[:before] + name + v.text[before+len(f.Name.Name):] + "\n"
		}
		at(f.Body.Lbrace+1, " switch chosenMutant {"+cases+" }; ")
	}
	combined := s.text
	for _, offset := range slices.Backward(slices.Sorted(maps.Keys(insert))) {
		combined = combined[:offset] + insert[offset] + combined[offset:]
	}
	return combined + text
}

// variantOf is what a function is called in a mutant: never exported, since tests look at all
// exported methods.
func variantOf(function string, mutant int) string {
	return fmt.Sprintf("mutated%s_mutant%d", function, mutant)
}

// nameParameters gives the function's parameters names where they have none.
func (f *function) nameParameters(at func(token.Pos, string)) {
	for i, field := range f.parameters() {
		if len(field.Names) == 0 {
			at(field.Type.Pos(), unnamed(i, 0)+" ")
		}
		for n, name := range field.Names {
			if name.Name == "_" {
				at(name.Pos(), unnamed(i, n))
			}
		}
	}
}

// unnamed is the name for the nth parameter of a field; a "_" follows it that was there.
func unnamed(field, n int) string { return fmt.Sprintf("unnamed%d_%d", field, n) }

// parameters are the function's parameters, behind its receiver.
func (f *function) parameters() []*ast.Field {
	if f.Recv == nil {
		return f.Type.Params.List
	}
	return slices.Concat(f.Recv.List, f.Type.Params.List)
}

// arguments are the names of the function's parameters, its receiver's first.
func (f *function) arguments() (args []string) {
	for i, field := range f.parameters() {
		if len(field.Names) == 0 {
			args = append(args, unnamed(i, 0))
		}
		for n, name := range field.Names {
			if name.Name == "_" {
				args = append(args, unnamed(i, n)+"_")
			} else {
				args = append(args, name.Name)
			}
		}
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			args[len(args)-1] += "..."
		}
	}
	return args
}

// call is the statement that has a mutant's function do the work.
func (f *function) call(name string) string {
	args := f.arguments()
	if f.Recv != nil {
		name, args = args[0]+"."+name, args[1:]
	}
	call := fmt.Sprintf("%s%s(%s)", name, f.typeArguments(), strings.Join(args, ", "))
	if f.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

// typeArguments are those of a generic function.
func (f *function) typeArguments() string {
	if f.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, field := range f.Type.TypeParams.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}
