package recipe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func name(k Kind, sequence int) string { return fmt.Sprintf("%s%010d", Stem(id, k), sequence) }

func TestAContenderWaitsForThoseAheadThatBlockIt(t *testing.T) {
	names := []string{name(Read, 4), "config", name(Write, 2), name(Read, 5), name(Read, 1), name(Exclusive, 9), name(Permit, 0)}
	for _, want := range []struct {
		self            Node
		ahead           int
		nearest, before int32
	}{
		{Node{name(Read, 1), Read, 1}, 0, 0, 0},
		{Node{name(Write, 2), Write, 2}, 1, 1, 0},
		{Node{name(Read, 4), Read, 4}, 1, 2, 0},
		{Node{name(Read, 5), Read, 5}, 1, 2, 0},
		{Node{name(Exclusive, 9), Exclusive, 9}, 4, 5, 4},
	} {
		at, err := Locate(names, want.self)
		require.NoError(t, err)
		require.Equal(t, want.ahead, at.Ahead, want.self)
		require.Equal(t, want.nearest, at.Nearest.Sequence, want.self)
		require.Equal(t, want.before, at.Before.Sequence, want.self)
	}
}

func TestAListThatCannotPlaceAContenderSaysWhy(t *testing.T) {
	self := Node{name(Write, 3), Write, 3}
	_, err := Locate([]string{name(Write, 2)}, self)
	require.ErrorIs(t, err, ErrMissing)
	_, err = Locate([]string{self.Name, name(Read, 3)}, self)
	require.ErrorIs(t, err, ErrTwice)
	self.Sequence = orderEnd
	_, err = Locate([]string{self.Name}, self)
	require.ErrorIs(t, err, ErrUnordered)
}

func TestANewcomerIsBlockedByWhomItConflictsWith(t *testing.T) {
	require.False(t, AnyBlocks([]string{name(Read, 1), "config"}, Read))
	require.True(t, AnyBlocks([]string{name(Read, 1)}, Write))
	require.True(t, AnyBlocks([]string{name(Write, 1)}, Read))
	require.True(t, AnyBlocks([]string{name(Exclusive, 1)}, Exclusive))
	require.False(t, AnyBlocks(nil, Exclusive))
}

func TestTheQueueShowsWhoHoldsTheLock(t *testing.T) {
	var held []string
	queue := Queue([]string{name(Write, 6), name(Read, 3), "config", name(Write, 2), name(Read, 2), name(Read, 7)})
	require.Len(t, queue, 5)
	for _, w := range queue {
		if w.Holds {
			held = append(held, w.Name)
		}
	}
	// A writer that downgrades has two nodes for a moment.
	require.ElementsMatch(t, []string{name(Write, 2), name(Read, 2)}, held)
	require.Equal(t, int32(7), queue[4].Sequence)
}
