package docs_test

import (
	"go/parser"
	"go/token"
	"regexp"
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

func TestThePackageMakesThePromisesOfTheReadme(t *testing.T) {
	made := between(t, page(t, "../README.md"), "## What it promises", "## What it does not")
	promises := regexp.MustCompile(`(?m)^\d\. \*\*(.+?)\.?\*\*`).FindAllStringSubmatch(made, -1)
	require.NotEmpty(t, promises)

	file, err := parser.ParseFile(token.NewFileSet(), "../doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	repeated := between(t, file.Doc.Text(), "# What is promised", "three exceptions")
	items := regexp.MustCompile(`(?m)^  - .*$`).FindAllString(repeated, -1)
	require.Len(t, items, len(promises), "the package promises as much as the README")
	for i, promise := range promises {
		assert.True(t, strings.HasPrefix(items[i], "  - "+promise[1]), "%s is %q of the README", items[i], promise[1])
	}
}
