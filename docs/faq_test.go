package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

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
