package report

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/bench/internal/result"
)

func aRun() *result.Run {
	return &result.Run{
		Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Commit: "abc", Rounds: 3, Window: time.Second, Servers: 1,
		Machine:  result.Machine{CPU: "a CPU", Cores: 2, OS: "an OS", Load: 0.5},
		Versions: []result.Version{{Name: "ZooKeeper", Version: "3.8.0"}},
		Notes:    []string{"kazoo is skipped"},
		Figures: []result.Figure{
			{ID: "uncontended-5ms/ns", Title: "Uncontended", Unit: "µs", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{5000, 6000, 5500}},
				{Party: "zk.Lock", Role: result.Peer, Values: []float64{16500, 16000, 17000}},
				{Party: "Curator", Role: result.Peer, Values: []float64{18000, 18000, 18000}},
				{Party: "etcd", Role: result.Other, Values: []float64{11000, 11000, 11000}},
				{Party: "floor: create, delete", Role: result.Floor, Values: []float64{11000, 11000, 11000}},
			}},
			{ID: "uncontended-5ms/round trips", Title: "In a row", Unit: "round trips", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{1.2}},
			}},
			{ID: "sessions-8-loopback/ns", Title: "Sessions", Unit: "µs", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{900}},
				{Party: "zk.Lock", Role: result.Peer, Values: []float64{700}},
			}},
			{ID: "handover-100/ns", Title: "Hand-over, 100 waiting", Unit: "µs", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{300}},
			}},
			{ID: "handover-5000/ns", Title: "Hand-over, 5000 waiting", Unit: "µs", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{315}},
			}},
			{ID: "reentry/allocs", Title: "Re-entry", Unit: "objects", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{0.001}},
			}},
			{ID: "cold/round trips", Title: "Cold", Unit: "round trips", Rows: []result.Row{
				{Party: "zklock", Role: result.Subject, Values: []float64{7.5}},
				{Party: "Curator", Role: result.Peer, Values: []float64{7}},
			}},
			{ID: "reentry/ns", Title: "nobody did it", Unit: "ns"},
		},
	}
}

func TestVerdicts(t *testing.T) {
	all := verdicts(aRun())
	require.Len(t, all, len(aims))
	measured := slices.DeleteFunc(all, func(v verdict) bool { return v.Result() == "not measured" })
	require.Equal(t, []verdict{
		{"uncontended cycle, 5 ms round trip", "2.50 times the best peer", "3 times zk.Lock", true},
		{"its critical path, in round trips", "at most 1", "1.20 round trips", true},
		{"8 sessions contend, loopback", "1 times the best peer", "0.78 times zk.Lock", false},
		{"re-entry pair, allocations", "at most 0", "0.001 objects", true},
		{"hand-over with 5000 waiting, beside 100", "at most 1.10 times", "1.05 times", true},
		{"cold start on a missing path", "less than Curator", "7.50, Curator: 7", false},
	}, measured)
	require.Equal(t, "reached: 3 times zk.Lock", measured[0].Result())
	require.Equal(t, "not reached: 0.78 times zk.Lock", measured[2].Result())
}

func TestCells(t *testing.T) {
	run := aRun()
	require.Equal(t, []cell{
		{"zklock", "5500", "5000 – 6000", "3×", "2.50 times the best peer: reached"},
		{"zk.Lock", "16500", "16000 – 17000", "1×", ""},
		{"Curator", "18000", "18000 – 18000", "0.92×", ""},
		{"etcd", "11000", "11000 – 11000", "1.50×", ""},
		{"floor: create, delete", "11000", "11000 – 11000", "1.50×", ""},
	}, cells(run, run.Figures[0]))
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.001: "0.001", 5.678: "5.68", 6: "6", 12.34: "12.3", 99.96: "100.0", 123.4: "123", 72181: "72181"} {
		require.Equal(t, want, number(x))
	}
}

func TestTheTableNamesEveryoneAndLeavesOutWhatNobodyDid(t *testing.T) {
	var out bytes.Buffer
	Table(&out, aRun())
	for _, text := range []string{"commit abc", "kazoo is skipped", "Uncontended (µs, median of 3)", "floor: create, delete", ": reached", "not reached: 0.78 times zk.Lock"} {
		require.Contains(t, out.String(), text)
	}
	require.NotContains(t, out.String(), "nobody did it")
}

func TestThePageIsTheSameFromItsData(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	run := aRun()
	require.NoError(t, Page(first, run))
	data := filepath.Join(first, "run.json")
	require.NoError(t, run.Save(data))
	loaded, err := result.Load(data)
	require.NoError(t, err)
	require.NoError(t, Page(second, loaded))

	for _, name := range []string{"benchmarks.md", "benchmarks/uncontended-5ms.svg", "benchmarks/handover.svg"} {
		want, err := os.ReadFile(filepath.Join(first, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(second, name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
}
