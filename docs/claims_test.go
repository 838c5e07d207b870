package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// between returns the part of text from behind one line to ahead of another.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, text, found := strings.Cut(text, from)
	require.True(t, found, from)
	text, _, found = strings.Cut(text, to)
	require.True(t, found, to)
	return text
}

// absolute is what a sentence has that leaves no room.
var absolute = regexp.MustCompile(`(?i)\b(?:never|always|at once|at most|exactly)\b|\b(?:no|nobody)\b.*\buntil\b`)

// claim is a row of claims.md.
type claim struct{ file, sentence, test, mutant string }

// claims returns the rows of the page, and those of the sentences that promise nothing.
func claims(t *testing.T) (proved, others []claim) {
	t.Helper()
	for _, line := range strings.Split(page(t, "claims.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "| `"):
		case len(cells) == 4:
			_, test, _ := strings.Cut(strings.TrimSuffix(cells[2], "`"), "`")
			for _, file := range strings.Split(cells[0], ", ") {
				proved = append(proved, claim{strings.Trim(file, "`"), plain(cells[1]), test, cells[3]})
			}
		case len(cells) == 3:
			others = append(others, claim{file: strings.Trim(cells[0], "`"), sentence: plain(cells[1])})
		default:
			require.Fail(t, "neither of the two tables has such a row", line)
		}
	}
	return proved, others
}

var marks = strings.NewReplacer("**", "", "`", "", "[", "", "]", "", "\t", " ", "\n", " ")

// plain is text without its layout.
func plain(text string) string { return strings.Join(strings.Fields(marks.Replace(text)), " ") }

// sentences returns the sentences of a text in which blank lines and list items stand apart.
func sentences(text string) (all []string) {
	for _, paragraph := range regexp.MustCompile(`\n\s*\n|\n\s*(?:-|\d\.) |\n#`).Split("\n"+text, -1) {
		for _, s := range strings.SplitAfter(plain(paragraph)+" ", ". ") {
			if s = strings.TrimSpace(s); s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// claiming returns the files that promise something to users, with what they say.
func claiming(t *testing.T) map[string][]string {
	t.Helper()
	said := map[string][]string{
		"README.md": sentences(between(t, page(t, "../README.md"), "## What it promises", "## More")),
	}
	for _, dir := range []string{"", "membership"} {
		names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		require.NoError(t, err)
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				said[filepath.Join(dir, filepath.Base(name))] = documented(t, name)
			}
		}
	}
	return said
}

// documented returns the sentences of a file's package comment, and of the comments of what
// it exports.
func documented(t *testing.T, name string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	require.NoError(t, err)
	if file.Doc != nil {
		all = sentences(file.Doc.Text())
	}
	ast.FileExports(file)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			all = append(all, sentences(d.Doc.Text())...)
		case *ast.GenDecl:
			all = append(all, sentences(d.Doc.Text())...)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					all = append(all, sentences(n.Doc.Text())...)
				case *ast.ValueSpec:
					all = append(all, sentences(n.Doc.Text()+"\n\n"+n.Comment.Text())...)
				case *ast.Field:
					all = append(all, sentences(n.Doc.Text()+"\n\n"+n.Comment.Text())...)
				}
				return true
			})
		}
	}
	return all
}

// quotes reports whether a row's sentence is s, or the parts of it that "..." leaves.
func (c claim) quotes(s string) bool {
	parts := strings.Split(c.sentence, "...")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(part))
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(s)
}

func TestEveryAbsoluteClaimIsOnThePageOfClaims(t *testing.T) {
	proved, others := claims(t)
	rows := slices.Concat(proved, others)
	for file, said := range claiming(t) {
		for _, s := range said {
			stands := slices.ContainsFunc(rows, func(c claim) bool { return c.file == file && c.quotes(s) })
			assert.True(t, stands || !absolute.MatchString(s), "| `%s` | %s | | |", file, s)
		}
	}
}

func TestTheClaimsOnThePageStandWhereItSays(t *testing.T) {
	said := claiming(t)
	proved, others := claims(t)
	for _, c := range slices.Concat(proved, others) {
		found := 0
		for _, s := range said[c.file] {
			if c.quotes(s) {
				found++
			}
		}
		assert.Equal(t, 1, found, "%s has this sentence once: %s", c.file, c.sentence)
	}
}

func TestTheTestsThatThePageOfClaimsNamesFindTheirMutants(t *testing.T) {
	tests, finders := sources(t, true, true, ".."), mutants(t)
	proved, _ := claims(t)
	require.Greater(t, len(proved), 30)
	for _, c := range proved {
		assert.True(t, strings.Contains(tests, "\nfunc "+c.test+"("), "there is no test %s", c.test)
		assert.Contains(t, finders[c.mutant], c.test, "the tables of test/mutants say which tests find %q", c.mutant)
	}
}

func TestEachFaultHasAMutantThatATestOfItsRowFinds(t *testing.T) {
	finders := mutants(t)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.* \| (.+) \| (\w.*) \|$`).FindAllStringSubmatch(page(t, "faults.md"), -1)
	require.Equal(t, 38, len(rows), "all but the last, which is the others together")
	for i, row := range rows {
		assert.Equal(t, fmt.Sprint(i+1), row[1])
		found := slices.ContainsFunc(finders[row[3]], func(test string) bool { return strings.Contains(row[2], "`"+test+"`") })
		assert.True(t, found, "the tables of test/mutants say which tests find %q", row[3])
	}
}

// mutants returns the tests that find each mutant, by the tables of test/mutants, where they
// are required to.
func mutants(t *testing.T) (finders map[string][]string) {
	t.Helper()
	finders = make(map[string][]string)
	for _, m := range regexp.MustCompile(`(?m)^\t\{"(.*)", \[\]edit\{$`).FindAllStringSubmatch(page(t, "../test/mutants/table_test.go"), -1) {
		finders[m[1]] = append(finders[m[1]], "TestSimulation")
	}
	library := page(t, "../test/mutants/library_test.go")
	judged := regexp.MustCompile(`(?ms)^\t\{mutant\{"([^\n]*)", \[\]edit\{\n.*?^\t\}\}, "(?:[^"\n]*\.)?(Test\w+)[^"\n]*"\},$`)
	for _, m := range judged.FindAllStringSubmatch(library, -1) {
		finders[m[1]] = append(finders[m[1]], m[2])
	}
	for _, m := range regexp.MustCompile(`(?m)^\t\{"(.*)", "(?:.*\.)?(Test\w+)"\},$`).FindAllStringSubmatch(library, -1) {
		finders[m[1]] = append(finders[m[1]], m[2])
	}
	return finders
}
