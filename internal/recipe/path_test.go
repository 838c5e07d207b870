package recipe

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestAPathThatZooKeeperWouldRefuseIsRefusedAndTheReasonIsSaid(t *testing.T) {
	for path, reason := range map[string]string{
		"":                  "is empty",
		"locks":             "is relative",
		"/":                 "is the root",
		"/zookeeper":        "which ZooKeeper keeps for itself",
		"/zookeeper/config": "which ZooKeeper keeps for itself",
		"/locks/":           "must not end with /",
		"//":                "must not end with /",
		"/a\xffb":           "is not valid UTF-8",
		"//locks":           "has an empty node name",
		"/locks//a":         "has an empty node name",
		"/.":                "relative names are not allowed",
		"/locks/../a":       "relative names are not allowed",
		"/a\nb":             "has the character U+000A at byte 2",
		"/\U0001f512":       "has the character U+1F512 at byte 1",
	} {
		require.ErrorContains(t, CheckPath(path), reason, "%q", path)
	}
	for _, path := range []string{"/a", "/locks/a", "/zookeepers", "/locks/zookeeper", "/...", "/.a/a.", "/a b", "/ünïcode"} {
		require.NoError(t, CheckPath(path), path)
	}
}

// These are the gaps between the ranges that PathUtils.validatePath refuses. Above U+FFFF a
// character is two of the surrogates there.
func TestACharacterIsRefusedUnlessItIsBetweenTheRangesThatZooKeeperRefuses(t *testing.T) {
	for _, accepted := range []struct{ from, to rune }{{0x20, 0x7e}, {0xa0, 0xd7ff}, {0xf900, 0xffef}} {
		require.True(t, refused(accepted.from-1), "%U", accepted.from-1)
		require.False(t, refused(accepted.from), "%U", accepted.from)
		require.False(t, refused(accepted.to), "%U", accepted.to)
		require.True(t, refused(accepted.to+1), "%U", accepted.to+1)
	}
	require.True(t, refused(0))
	require.True(t, refused(utf8.MaxRune))
}

func TestAPathIsThatOfItsParentAndItsLastName(t *testing.T) {
	for _, path := range []struct{ whole, parent, base string }{
		{"/a", "/", "a"},
		{"/locks", "/", "locks"},
		{"/a/b", "/a", "b"},
		{"/locks/ledger/node", "/locks/ledger", "node"},
	} {
		require.Equal(t, path.parent, Parent(path.whole))
		require.Equal(t, path.base, Base(path.whole))
		require.Equal(t, path.whole, Join(path.parent, path.base))
	}
	require.Equal(t, "/", Parent("/"), "the root has nothing above it")
}
