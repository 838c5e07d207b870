package goid

import (
	"sync"
	"testing"

	petermattis "github.com/petermattis/goid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryGoroutineHasItsOwnID(t *testing.T) {
	const n = 2000
	ids := make([]int64, n)
	var wg sync.WaitGroup
	hold := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			ids[i] = Get()
			assert.Equal(t, fromStack(), ids[i])
			<-hold // keep all of them alive at once, and let the runtime move them between threads
			assert.Equal(t, ids[i], Get())
		})
	}
	close(hold)
	wg.Wait()

	seen := make(map[int64]bool, n)
	for _, id := range ids {
		require.Positive(t, id)
		require.False(t, seen[id], "goroutine %d seen twice", id)
		seen[id] = true
	}
}

func TestThisToolchainTakesTheFastPath(t *testing.T) {
	assert.True(t, trusted, "petermattis/goid does not know this Go release: every re-entry now costs microseconds")
	assert.Equal(t, fromStack(), Fast())
}

func TestGetFallsBack(t *testing.T) {
	defer func(was bool) { trusted = was }(trusted)
	trusted = false
	assert.Equal(t, Unknown, Fast())
	assert.Equal(t, fromStack(), Get())
}

func TestLyingReaderIsRefused(t *testing.T) {
	me := fromStack()
	readers := map[string]func() int64{
		"zero":       func() int64 { return 0 },
		"one past":   func() int64 { return fromStack() + 1 },
		"a constant": func() int64 { return me }, // right in this goroutine, wrong in all others
	}
	for name, read := range readers {
		t.Run(name, func(t *testing.T) { assert.False(t, agrees(read)) })
	}
	assert.True(t, agrees(petermattis.Get))
	assert.True(t, agrees(fromStack))
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		header string
		id     int64
		ok     bool
	}{
		{"goroutine 1 [running]:\nmain.main()", 1, true},
		{"goroutine 18446744 [running]:", 18446744, true},
		{"goroutine 7 [running, synctest bubble 3]:", 7, true},
		{"goroutine 9223372036854775807 [", 9223372036854775807, true},
		{"goroutine 9223372036854775808 [", 0, false},
		{"goroutine 42", 0, false}, // cut off: the number may go on
		{"goroutine 0 [idle]:", 0, false},
		{"goroutine -1 [running]:", 0, false},
		{"goroutine  7 [running]:", 0, false},
		{"goroutine x [running]:", 0, false},
		{"Goroutine 7 [running]:", 0, false},
		{"", 0, false},
	} {
		id, ok := parse([]byte(c.header))
		assert.Equal(t, c.ok, ok, c.header)
		if c.ok {
			assert.Equal(t, c.id, id, c.header)
		}
	}
}

var sink int64

func BenchmarkGet(b *testing.B) {
	for b.Loop() {
		sink = Get()
	}
}

func BenchmarkFast(b *testing.B) {
	for b.Loop() {
		sink = Fast()
	}
}

func BenchmarkFromStack(b *testing.B) {
	for b.Loop() {
		sink = fromStack()
	}
}
