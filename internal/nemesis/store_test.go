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
