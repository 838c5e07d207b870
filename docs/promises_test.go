package docs_test

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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

func TestThePromisesAndExceptionsAreAsManyEverywhere(t *testing.T) {
	const promises, exceptions = 7, 3
	count := func(pattern, text string) int { return len(regexp.MustCompile(pattern).FindAllString(text, -1)) }

	readme := page(t, "../README.md")
	assert.Equal(t, promises, count(`(?m)^\d\. `, between(t, readme, "## What it promises", "## What it does not")))
	assert.Equal(t, exceptions, count(`(?m)^\d\. `, between(t, readme, "have three exceptions", "## More")))

	file, err := parser.ParseFile(token.NewFileSet(), "../doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	doc := file.Doc.Text()
	assert.Equal(t, promises, count(`(?m)^  - `, between(t, doc, "# What is promised", "three exceptions")))
	assert.Equal(t, exceptions, count(`(?m)^  - `, between(t, doc, "three exceptions", "# When a lock is lost")))

	faults := page(t, "faults.md")
	assert.Contains(t, faults, "three exceptions")
	assert.Equal(t, exceptions, count(`(?m)\*\*[^|]*?\(\d+\)\*\*`, between(t, faults, "## The three exceptions", "## A leader that hangs")))
	assert.Equal(t, exceptions, count(`\*\*[Cc]annot know`, faults))
}

func TestTheQuestionsExplainEverySentinel(t *testing.T) {
	faq := page(t, "faq.md")
	exported := regexp.MustCompile(`(?m)^\t(Err\w+) +=`).FindAllStringSubmatch(page(t, "../errors.go"), -1)
	texts := map[string]error{
		"ErrLocked": zklock.ErrLocked, "ErrLost": zklock.ErrLost, "ErrNotHeld": zklock.ErrNotHeld,
		"ErrReleased": zklock.ErrReleased, "ErrUpgrade": zklock.ErrUpgrade,
		"ErrDeadlock": zklock.ErrDeadlock, "ErrClosed": zklock.ErrClosed,
	}
	require.Len(t, exported, len(texts), "every sentinel is here")
	for _, m := range exported {
		require.Contains(t, texts, m[1])
		text := strings.TrimPrefix(texts[m[1]].Error(), "zklock: ")
		assert.Contains(t, faq, "| `"+text+"` | `"+m[1]+"` |")
	}
}

func TestTheWorkspaceNeedsNoNewerGoThanTheLibrary(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (.+)$`)
	work, module := version.FindString(page(t, "../go.work")), version.FindString(page(t, "../go.mod"))
	require.NotEmpty(t, work)
	assert.Equal(t, module, work)
}

func TestTheTextsThatTheQuestionsQuoteAreTheLibrarys(t *testing.T) {
	code := sources(t, false, false, "..", "../internal/client", "../internal/queue", "../internal/recipe", "../internal/wire")
	quoted := between(t, page(t, "faq.md"), "## Other texts", "## Without an error")
	// What differs from call to call, and what others say.
	varies := regexp.MustCompile(`\d+|"[^"]*"|/[\w/]*|zk1:2181|\.\.\.|context deadline exceeded|zk: not authenticated`)
	found := 0
	for _, bold := range regexp.MustCompile("(?s)\\*\\*`.+?\\*\\*").FindAllString(quoted, -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(strings.ReplaceAll(bold, "\n", " "), -1) {
			for _, text := range varies.Split(span[1], -1) {
				if text = strings.Trim(text, " ,:"); len(text) >= 10 {
					assert.Contains(t, code, text, "faq.md quotes it")
					found++
				}
			}
		}
	}
	assert.Greater(t, found, 12)
}
