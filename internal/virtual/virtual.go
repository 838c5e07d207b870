// Package virtual runs a test in virtual time. Where that does not come to its end, it says what waits
// for what: testing/synctest says only that something does.
package virtual

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A session goes on to ping: a bubble that has one is never blocked as a whole. So a test that is not over
// after so long hangs, unless it ends soon, by the clock of the machine: that it is blocked is told better.
const (
	limit = 24 * time.Hour
	soon  = 3 * time.Second
)

// Test is synctest.Test. A test that leaves a goroutine behind, or waits for ever, fails alone.
func Test(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if stuck := Try(t, f); stuck != "" {
		t.Fatal(stuck)
	}
}

// Run is Test of a case that has a name.
func Run(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { Test(t, f) })
}

// Try is Test that returns what waits for what, if something does for ever.
func Try(t *testing.T, f func(t *testing.T)) (stuck string) {
	t.Helper()
	b := bubble{late: make(chan struct{}, 1), over: make(chan struct{})}
	go b.watch(t.Name())
	defer func() {
		close(b.over)
		if p := recover(); p != nil {
			if _, deadlock := p.(error); !deadlock {
				panic(p)
			}
			stuck = b.tell(fmt.Sprint(p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		b.id = id.FindString(string(debug.Stack()))
		hung := time.AfterFunc(limit, func() { b.late <- struct{}{} })
		t.Cleanup(func() { hung.Stop() })
		defer b.ends(t)
		f(t)
	})
	return ""
}

type bubble struct {
	id         string
	failed     string        // where the test gave up
	late, over chan struct{} // it is after the limit; it has ended
}

// watch panics if the bubble hangs. It runs outside of that: nothing ends it from within.
func (b *bubble) watch(name string) {
	select {
	case <-b.over:
		return
	case <-b.late:
	}
	select {
	case <-b.over:
	case <-time.After(soon):
		panic(name + ": " + b.tell(fmt.Sprint("it is not over after ", limit)))
	}
}

// ends notes where the test gave up: what it has said is lost if it does not end.
func (b *bubble) ends(t *testing.T) {
	if t.Failed() {
		b.failed = way(string(debug.Stack()))
	}
}

// id finds a goroutine's bubble.
var id = regexp.MustCompile(`synctest bubble \d+`)

// tell says what waits in the bubble. Alike goroutines are counted, those of the test come first.
func (b *bubble) tell(why string) string {
	buf := make([]byte, 4<<20)
	alike := make(map[string]int)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		_, reason, _ := strings.Cut(head, "[")
		reason, _, _ = strings.Cut(reason, ",")
		if w := way(stack); w != "" && id.FindString(head) == b.id {
			alike[strings.TrimSuffix(reason, " (durable)")+": "+w]++
		}
	}
	lines := slices.SortedFunc(maps.Keys(alike), func(x, y string) int {
		return cmp.Or(strings.Count(y, "_test.go")-strings.Count(x, "_test.go"), cmp.Compare(x, y))
	})
	text := why
	if b.failed != "" {
		text += "\nthe test had failed at " + b.failed
	}
	text += "\nwhat waits:"
	for _, line := range lines {
		text += fmt.Sprintf("\n%4d x %s", alike[line], line)
	}
	return text
}

// frame finds a function of this module and its place in a stack.
var frame = regexp.MustCompile(`(?m)^(?:created by )?github\.com/zklock/zklock(?:/\S*/|/)?(\S+?)(?:\([^()]*\))?(?: in goroutine \d+)?\n\t\S*/(\S+:\d+)`)

// way is how a goroutine came to where it is, the innermost function first.
func way(stack string) string {
	var ways []string
	for _, m := range frame.FindAllStringSubmatch(stack, -1) {
		if !strings.HasPrefix(m[2], "virtual.go:") {
			ways = append(ways, m[1]+" "+m[2])
		}
	}
	return strings.Join(ways, " < ")
}
