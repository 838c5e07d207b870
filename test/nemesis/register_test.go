package nemesis

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStoreRefusesTokensBelowTheHighestThatItHasSeen(t *testing.T) {
	s := store(filepath.Join(t.TempDir(), "register"))
	value, err := s.read(5)
	require.NoError(t, err)
	require.Zero(t, value)
	require.NoError(t, s.write(5, 1))

	value, err = s.read(7) // the next owner has read, and not written yet
	require.NoError(t, err)
	require.Equal(t, 1, value)
	require.ErrorIs(t, s.write(5, 2), errOldToken)
	_, err = s.read(5)
	require.ErrorIs(t, err, errOldToken)

	require.NoError(t, s.write(7, 2))
	value, err = s.read(7)
	require.NoError(t, err)
	require.Equal(t, 2, value)
}

func TestALostUpdateIsFound(t *testing.T) {
	wrote := func(n int, outcome Outcome) Update { return Update{Register: "r", Wrote: n, Outcome: outcome} }
	for name, c := range map[string]struct {
		updates []Update
		final   int
		bad     bool
	}{
		"each value once":                      {[]Update{wrote(1, Written), wrote(2, Written)}, 2, false},
		"a refused write left nothing":         {[]Update{wrote(1, Written), wrote(2, Refused), wrote(2, Written)}, 2, false},
		"an unknown write may have happened":   {[]Update{wrote(1, Unknown), wrote(2, Written)}, 2, false},
		"an unknown write may have failed":     {[]Update{wrote(1, Unknown), wrote(1, Written)}, 1, false},
		"two wrote the same":                   {[]Update{wrote(1, Written), wrote(1, Written)}, 1, true},
		"a confirmed write is forgotten":       {[]Update{wrote(1, Written), wrote(2, Written)}, 1, true},
		"a value nobody wrote":                 {[]Update{wrote(1, Written), wrote(3, Written)}, 3, true},
		"a refused write happened nonetheless": {[]Update{wrote(1, Refused)}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			found := LostUpdates(c.updates, map[string]int{"r": c.final})
			require.Equal(t, c.bad, len(found) > 0, "%v", found)
		})
	}
}
