// Package lock_test has what the locks promise, in memory, in virtual time, and on a real server.
package lock_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
)

var every = flag.Bool("every", false, "run all that is otherwise one of several, by chance: an hour on a busy machine")

// skips returns how many cases of very many, which are alike, are left out ahead of the next: one of
// five is run on the average.
func skips() int64 {
	if *every {
		return 0
	}
	return rand.Int64N(9)
}

// often is n, or a fifth of it without -every.
func often(n int) int {
	if *every {
		return n
	}
	return n / 5
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite stops the shared server when all tests have run, before goleak looks.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer stopSharedServer()
	return s.M.Run()
}
