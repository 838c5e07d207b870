package mutants

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAMutantIsKilledByATestThatFailsTwice(t *testing.T) {
	name, hung, failed := speaking(t, mutated+`echo "--- FAIL: TestB (0.01s)"; exit 1`).finds(1)
	require.Equal(t, "TestB", name)
	require.True(t, failed)
	require.False(t, hung)
}

func TestATestThatFailsOnceIsHeardNoMoreAndTheOthersAre(t *testing.T) {
	name, _, failed := speaking(t, mutated+`
case "$*" in
*"(TestA|TestB)"*) echo "--- FAIL: TestA (0.01s)"; exit 1 ;;
*"(TestA)"*) exit 0 ;;
*"(TestB)"*) echo "--- FAIL: TestB (0.01s)"; exit 1 ;;
esac`).finds(1)
	require.Equal(t, "TestB", name)
	require.True(t, failed)
}

func TestAMutantThatFailsNoTestTwiceIsAlive(t *testing.T) {
	_, _, failed := speaking(t, `case "$*" in *"(TestA|TestB)"*) echo "--- FAIL: TestB (0.01s)"; exit 1 ;; esac`).finds(1)
	require.False(t, failed)
}

func TestATestThatFailsWithoutTheMutantAsWellKillsNothing(t *testing.T) {
	_, _, failed := speaking(t, `case "$*" in *"(TestA)"*) exit 0 ;; *) echo "--- FAIL: TestB (0.01s)"; exit 1 ;; esac`).finds(1)
	require.False(t, failed)
}

func TestAMutantIsKilledByATestThatHangsTwice(t *testing.T) {
	name, hung, failed := speaking(t, mutated+`printf "panic: test timed out after 14s\n\trunning tests:\n\t\tTestB (14s)\n"; exit 2`).finds(1)
	require.Equal(t, "TestB", name)
	require.True(t, hung)
	require.True(t, failed)
}

func TestTheTestsOfItsOwnPackageJudgeAMutantAheadOfTheSimulation(t *testing.T) {
	b := &bench{effort: effort{Programs: 1000, Slowest: 2 * time.Second}, tests: map[string]*tests{}}
	for _, of := range judges {
		b.tests[of] = &tests{of: of}
	}
	var heard []string
	for _, h := range b.hearings("internal/lease", []*reaching{
		{Of: "test/lock", Name: "TooSlow", Work: 3 * time.Second},
		{Of: "test/lock", Name: "Slow", Work: 1500 * time.Millisecond},
		{Of: "test/lock", Name: "Usual", Work: 500 * time.Millisecond},
		{Of: "test/lock", Name: "Quick", Work: time.Millisecond},
		{Of: "internal/lease", Name: "Exhaustive", Work: time.Minute},
		{Of: simulator, Name: simulating, Work: time.Minute},
	}) {
		heard = append(heard, h.names...)
	}
	require.Equal(t, []string{"Quick", "Usual", "Exhaustive", simulating, "Slow", simulating}, heard)
}

// mutated begins the script of tests that pass without a mutant.
const mutated = `[ "$` + chosen + `" = 0 ] && exit 0; `

// speaking is two tests whose binary is a script.
func speaking(t *testing.T, script string) *hearing {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "judge.test")
	require.NoError(t, os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	return &hearing{tests: &tests{of: ".", binary: binary}, names: []string{"TestA", "TestB"}}
}

func TestTestsThatUseUpTheirTimeHang(t *testing.T) {
	h := speaking(t, `echo "=== RUN   TestA"; echo "=== RUN   TestB"; while :; do :; done`)
	name, r := h.try(1, h.names, limits{took: time.Minute})
	require.Equal(t, "TestB", name)
	require.True(t, r.hung)
	require.Less(t, r.work, 10*time.Second)
}
