package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// library are the directories of the library's own code, beside the root.
var library = []string{
	"election", "internal/backoff", "internal/callback", "internal/client", "internal/clock", "internal/goid", "internal/latch",
	"internal/lease", "internal/owner", "internal/queue", "internal/recipe", "internal/wire", "membership", "zktest",
}

// strangers are names on the design's page that are not the library's: ZooKeeper's, its
// client's and Curator's.
var strangers = map[string]bool{
	"InterProcessMutex": true, "Multi": true, "SetWatches": true,
	"jute.maxbuffer": true, "syncLimit": true, "tickTime": true, "minSessionTimeout": true, "maxSessionTimeout": true, "observerMasterPort": true,
}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	identifier = regexp.MustCompile(`^[A-Za-z]\w\w+(?:\.\w+)*(?:\(\))?$|^[A-Za-z]\w*(?:\.\w+)+(?:\(\))?$`)
	goFile     = regexp.MustCompile(`[\w/]*\w\.go\b`)
	directory  = regexp.MustCompile(`\b(?:internal|test)/\w+(?:/\w+)*`)
)

func TestTheNamesThatTheDesignUsesAreTheLibrarys(t *testing.T) {
	declared, tests := make(map[string]bool), sources(t, true, true, "..")
	for _, dir := range append(library, "") {
		declaredIn(t, filepath.Join("..", dir), declared)
	}
	require.Greater(t, len(declared), 500, "the declarations are found")
	for _, name := range unknownNames(page(t, "design.md"), declared) {
		isTest := strings.HasPrefix(name, "Test") && strings.Contains(tests, "func "+name+"(")
		assert.True(t, isTest, "design.md speaks of %s", name)
	}
}

func TestAnUnknownNameIsFound(t *testing.T) {
	declared := map[string]bool{"Session.mu": true, "grant": true}
	text := "`Session.mu` is taken by `grant()`, `contender.vanish`, `lapse` and `zk.Lock`, with `syncLimit`, `t0` and `a + b`."
	require.Equal(t, []string{"contender.vanish", "lapse"}, unknownNames(text, declared))
}

// unknownNames returns the identifiers in a page's code spans that are not declared.
func unknownNames(text string, declared map[string]bool) (unknown []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		name := strings.TrimSuffix(m[1], "()")
		switch {
		case !identifier.MatchString(m[1]), strings.HasSuffix(name, ".go"), strings.HasPrefix(name, "zk."), strangers[name]:
		case !declared[name]:
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// declaredIn adds the names that the package in dir declares: by themselves, behind that of
// their type, and behind that of their package.
func declaredIn(t *testing.T, dir string, declared map[string]bool) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		add := func(name string) { declared[name], declared[file.Name.Name+"."+name] = true, true }
		declared[file.Name.Name] = true
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name.Name)
				if d.Recv != nil {
					add(typeName(d.Recv.List[0].Type) + "." + d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					addSpec(spec, add)
				}
			}
		}
	}
}

// addSpec adds what a declaration of constants, variables or a type has: of a type, also
// its fields and methods.
func addSpec(spec ast.Spec, add func(string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			add(name.Name)
		}
	case *ast.TypeSpec:
		add(spec.Name.Name)
		var members *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			members = of.Fields
		case *ast.InterfaceType:
			members = of.Methods
		default:
			return
		}
		for _, member := range members.List {
			for _, name := range member.Names {
				add(name.Name)
				add(spec.Name.Name + "." + name.Name)
			}
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestTheFilesThatThePagesNameAreThere(t *testing.T) {
	for _, name := range []string{"design.md", "faults.md", "operations.md", "costs.md", "support.md", "../CONTRIBUTING.md", "../README.md", "../CHANGELOG.md"} {
		text := page(t, name)
		for _, file := range goFile.FindAllString(text, -1) {
			assert.True(t, stands(t, file), "%s speaks of %s", name, file)
		}
		for _, dir := range directory.FindAllString(goFile.ReplaceAllString(text, ""), -1) {
			assert.DirExists(t, filepath.Join("..", dir), "%s speaks of it", name)
		}
	}
}

// stands reports whether there is a Go file of that path from the root of the repository,
// or of that name in the library or beside the pages.
func stands(t *testing.T, file string) bool {
	t.Helper()
	for _, dir := range append(library, "", "docs") {
		if _, err := os.Stat(filepath.Join("..", dir, file)); err == nil {
			return true
		}
	}
	return false
}
