package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDocumentedCodeCompiles(t *testing.T) {
	var snippets []snippet
	for _, file := range withSnippets(t) {
		snippets = append(snippets, snippetsOf(file, page(t, file))...)
	}
	require.NotEmpty(t, snippets)
	assert.NoError(t, compile(t, snippets))
}

// withSnippets returns the pages whose code is compiled, and run.
func withSnippets(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	return append(pages, "../README.md")
}

func TestBrokenSnippetsAreFound(t *testing.T) {
	const text = `
<!-- func(l *zklock.Locker) -->
~~~go
l.Luck()
~~~
<!-- func(l *zklock.Locker) error -->
~~~go
err := l.Lock()
return err
~~~
~~~go
unused, _ := context.WithCancel(context.Background())
~~~
~~~go
func Sound(l *zklock.Locker) { l.Lock() }
~~~
~~~go
type Broken struct{ zklock.Lucker }
~~~
~~~go
package main

func main() { zklock.New(nil, "/p") }
~~~
~~~sh
l.Luck()
~~~
`
	const broken, sound = "4 8 12 18 23", "9 15 26"
	err := compile(t, snippetsOf("broken.md", strings.ReplaceAll(text, "~~~", "```")))
	require.Error(t, err)
	for line := range strings.FieldsSeq(broken) {
		assert.ErrorContains(t, err, "broken.md:"+line+":")
	}
	for line := range strings.FieldsSeq(sound) {
		assert.NotContains(t, err.Error(), "broken.md:"+line+":")
	}
	assert.ErrorContains(t, compile(t, snippetsOf("broken.md", "```go\nl.Lock(\n```\n")), "broken.md:")
	assert.ErrorContains(t, compile(t, snippetsOf("broken.md", "```go\nimport \"no/such\"\n```\n")), "broken.md:2:")
}

// snippet is a block of Go in a Markdown file: a file, declarations, or the body of a function
// whose signature stands in an HTML comment above the block, which readers do not see.
type snippet struct {
	file      string
	line      int // of the first line of code
	signature string
	code      string
}

var goBlock = regexp.MustCompile("(?m)^(?:<!-- (func\\(.*) -->\n)?```go\n((?s:.*?)\n)```$")

func snippetsOf(file, text string) []snippet {
	var all []snippet
	for _, m := range goBlock.FindAllStringSubmatchIndex(text, -1) {
		s := snippet{file: file, line: 1 + strings.Count(text[:m[4]], "\n"), signature: "func()", code: text[m[4]:m[5]]}
		if m[2] >= 0 {
			s.signature = text[m[2]:m[3]]
		}
		all = append(all, s)
	}
	return all
}

// imports are the packages that a snippet may use without saying so.
var imports = map[string]string{
	"context":  "context",
	"errors":   "errors",
	"fmt":      "fmt",
	"log":      "log",
	"os":       "os",
	"slog":     "log/slog",
	"sync":     "sync",
	"synctest": "testing/synctest",
	"testing":  "testing",
	"time":     "time",
	"tls":      "crypto/tls",
	"election": "github.com/zklock/zklock/election",
	"zk":       "github.com/go-zookeeper/zk",
	"zklock":   "github.com/zklock/zklock",
	"zktest":   "github.com/zklock/zklock/zktest",
}

// source makes a Go file of the snippet.
func (s snippet) source() (string, error) {
	position := fmt.Sprintf("//line %s:%d\n", s.file, s.line)
	if strings.HasPrefix(s.code, "package ") {
		return position + s.code, nil
	}
	declarations := "package snippet\n" + position + s.code
	file, err := parse(declarations)
	if err != nil {
		// The panic spares a snippet with results its return.
		declarations = "package snippet\nfunc _" + strings.TrimPrefix(s.signature, "func") + "{\n" +
			position + s.code + "panic(0)\n}\n"
		if file, err = parse(declarations); err != nil {
			return "", err
		}
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok && imports[name.Name] != "" {
				used[name.Name] = true
			}
		}
		return true
	})
	var header strings.Builder
	header.WriteString("package snippet\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&header, "import %q\n", imports[name])
	}
	return header.String() + strings.TrimPrefix(declarations, "package snippet\n"), nil
}

func parse(source string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
}

// compile compiles each snippet as a package of this module, which exists in the go command's
// overlay only.
func compile(t *testing.T, snippets []snippet) error {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	temporary := t.TempDir()
	replace := map[string]string{}
	args := []string{"build", "-o", os.DevNull, "-overlay=" + filepath.Join(temporary, "overlay.json")}
	for i, s := range snippets {
		source, err := s.source()
		if err != nil {
			return err
		}
		dir := fmt.Sprintf("snippet%d", i)
		file := filepath.Join(temporary, dir+".go")
		require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
		replace[filepath.Join(root, "internal", dir, "snippet.go")] = file
		args = append(args, "./internal/"+dir)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(temporary, "overlay.json"), overlay, 0o644))

	build := exec.CommandContext(t.Context(), "go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return nil
}

func TestTheReadmeTellsAFreshMachineHowToRunAndTestIt(t *testing.T) {
	readme, makefile := page(t, "../README.md"), page(t, "../Makefile")
	require.Regexp(t, "```sh\ngit clone .*\nmake demo\\b.*\nmake test\\b.*\n```", readme, "one after the other")
	require.Regexp(t, `(?m)^demo:.*\n\t@go -C cmd/zklock run \. demo\b`, makefile, "a server in memory, unless asked for another")
	require.Regexp(t, `(?m)^test: zookeeper\b`, makefile, "it installs what it needs")
	require.Regexp(t, `(?m)^zookeeper:\n\t@scripts/install-zookeeper\.sh$`, makefile)
	require.Regexp(t, `(?m)^make test$`, page(t, "../.ci/run"), "it is what continuous integration runs")
}

func TestTheReadmeSaysWhichModulesAreBesideTheLibrarys(t *testing.T) {
	own := regexp.MustCompile(`[^.]*\bmodules of\s+their own\b`).FindString(page(t, "../README.md"))
	for _, dir := range []string{"zklockprom", "zklockotel", "zklockgocron", "zklockcertmagic", "zklockkrb", "cmd/zklock"} {
		require.FileExists(t, filepath.Join("..", dir, "go.mod"))
		require.Contains(t, own, "`"+dir+"`")
	}
}

func TestTheWorkspaceNeedsNoNewerGoThanTheLibrary(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (.+)$`)
	work, module := version.FindString(page(t, "../go.work")), version.FindString(page(t, "../go.mod"))
	require.NotEmpty(t, work)
	assert.Equal(t, module, work)
}

var (
	codeBlock = regexp.MustCompile("(?m)^```(?s:.*?)\n```$")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unslugged = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksResolve(t *testing.T) {
	for _, file := range markdownFiles(t) {
		for _, m := range link.FindAllStringSubmatch(prose(t, file), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			path := file
			if target != "" {
				path = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(path); !assert.NoError(t, err, "%s links to %s", file, m[1]) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(t, path), anchor, "%s links to %s", file, m[1])
		}
	}
}

func markdownFiles(t *testing.T) []string {
	var files []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	require.Contains(t, files, "../README.md")
	return files
}

// prose is the file's text without its blocks of code.
func prose(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return codeBlock.ReplaceAllString(string(text), "")
}

// anchors are the names by which GitHub lets a link point at a heading.
func anchors(t *testing.T, file string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(prose(t, file), -1) {
		slug := unslugged.ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}
