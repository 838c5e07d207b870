package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func everyone(Party) bool { return true }

func TestARoundDoesEveryWorkAndBeginsWithAnotherParty(t *testing.T) {
	p := Plan{Rounds: 2, Works: []Work{
		{ID: "small", Parties: []Party{zklock, goZK}},
		{ID: "large", Parties: []Party{zklock, curator}, Large: true, MostRounds: 1},
	}}
	require.Equal(t, []task{
		{0, goZK, warmUp},
		{0, zklock, warmUp},
		{0, zklock, 0},
		{0, goZK, 0},
		{1, zklock, 0},
		{1, curator, 0},
		{0, goZK, 1},
		{0, zklock, 1},
	}, p.tasks(everyone))

	p.Smoke = true
	require.Equal(t, []task{{0, zklock, 0}, {0, goZK, 0}, {1, zklock, 0}}, p.tasks(everyone)[:3])
	p.Rounds = 1
	require.Len(t, p.tasks(everyone), 3)
	require.Len(t, p.tasks(func(p Party) bool { return p != zklock }), 1)
}

func TestTheTimeLeftIsThatOfTheRoundBefore(t *testing.T) {
	c := newClock(Plan{Window: 4 * time.Second, Works: []Work{{}, {Large: true}}})
	first, again := task{0, zklock, warmUp}, task{0, zklock, 0}
	require.Less(t, c.usual(first), c.usual(again))
	c.note(first, 3*time.Second) // of which one in the window
	require.Equal(t, 3*time.Second, c.usual(first))
	require.Equal(t, 6*time.Second, c.usual(again))
	require.Equal(t, 12*time.Second, c.left([]task{again, again}))
	require.Greater(t, c.usual(task{1, zklock, 0}), c.usual(task{0, goZK, 0}))
}

func TestEveryWorkHasANameOfItsOwnAndShowsSomething(t *testing.T) {
	seen := make(map[string]bool)
	for _, w := range All() {
		require.False(t, seen[w.ID], w.ID)
		seen[w.ID] = true
		require.Contains(t, w.Parties, zklock, w.ID)
		require.NotEmpty(t, w.Shows, w.ID)
		for _, q := range w.Shows {
			require.NotZero(t, q.Per, "%s/%s", w.ID, q.Number)
		}
	}
}
