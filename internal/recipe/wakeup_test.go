package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWakeupProvesTheLockOnlyWithAllThatItTakes(t *testing.T) {
	all := Wakeup{
		Self: Exclusive, Position: Position{Ahead: 1, Nearest: Node{Kind: Exclusive, Sequence: 41}},
		Deleted: true, OwnWatched: true, SameConnection: true,
	}
	require.True(t, all.Proves())
	for lacks, without := range map[string]func(*Wakeup){
		"the nearest one has only changed":           func(w *Wakeup) { w.Deleted = false },
		"two were ahead":                             func(w *Wakeup) { w.Position.Ahead = 2 },
		"a writer may have become a reader":          func(w *Wakeup) { w.Position.Nearest.Kind, w.Self = Write, Write },
		"another library may have left a node":       func(w *Wakeup) { w.Position.Nearest.Foreign = true },
		"the session may have ended with both nodes": func(w *Wakeup) { w.SameSession = true },
		"the own node may be gone":                   func(w *Wakeup) { w.OwnWatched = false },
		"the watches are of an earlier connection":   func(w *Wakeup) { w.SameConnection = false },
	} {
		w := all
		without(&w)
		require.False(t, w.Proves(), lacks)
	}
}

func TestWhoeverWaitsForNoReaderHasTheLockByTheEndOfAnyWriter(t *testing.T) {
	for _, c := range []struct {
		ahead, self Kind
		proves      bool
	}{
		{Exclusive, Exclusive, true},
		{Read, Write, true},
		{Write, Read, true},
		{Write, Write, false},
		{Write, Exclusive, false},
	} {
		w := Wakeup{
			Self: c.self, Position: Position{Ahead: 1, Nearest: Node{Kind: c.ahead, Sequence: 41}},
			Deleted: true, OwnWatched: true, SameConnection: true,
		}
		require.Equal(t, c.proves, w.Proves(), "%v behind %v", c.self, c.ahead)
	}
}
