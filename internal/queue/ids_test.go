package queue

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
)

// Curator and every other client take the part ahead of the marker for a UUID.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8000-[0-9a-f]{12}$`)

func TestASessionGivesNoUUIDTwice(t *testing.T) {
	ids, given := newIdentities(), map[string]bool{}
	for range 1000 {
		id := ids.id()
		require.Regexp(t, uuid, id)
		require.False(t, given[id], id)
		given[id] = true
	}
}

// id returns a UUID that nobody has used yet.
func (i *identities) id() string {
	_, id := i.next("/lock", recipe.Exclusive)
	return id
}

// A node with the prefix of another session's would be taken for our own, and deleted.
func TestThePrefixesOfSessionsAreRandomInEachDigit(t *testing.T) {
	seen := map[int]map[byte]bool{}
	for range 1000 {
		prefix := newIdentities().prefix
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-$`, prefix)
		for i := range len(prefix) {
			if seen[i] == nil {
				seen[i] = map[byte]bool{}
			}
			seen[i][prefix[i]] = true
		}
	}
	for i, digits := range seen {
		if constant := i == 8 || i == 13 || i == 14 || i == 18; !constant {
			require.Len(t, digits, 16, "at %d", i)
		}
	}
}

func TestASessionKnowsItsOwnNodesByTheirNames(t *testing.T) {
	ours, others := newIdentities(), newIdentities()
	id := ours.id()
	for _, k := range []recipe.Kind{recipe.Exclusive, recipe.Write, recipe.Read, recipe.Permit} {
		found, is := ours.of(recipe.Stem(id, k) + "0000000041")
		require.True(t, is)
		require.Equal(t, id, found)
		_, is = others.of(recipe.Stem(id, k) + "0000000041")
		require.False(t, is, "another session's")
	}
	_, is := ours.of(recipe.Prefix + id)
	require.True(t, is)
	_, is = ours.of(recipe.Prefix + id[:uuidLength-1])
	require.False(t, is, "no whole UUID")
	_, is = ours.of(id + "-lock-0000000041")
	require.False(t, is, "not as we name them")
}

func TestThisLibrarysNodesAreKnownByTheirNamesInWhateverSession(t *testing.T) {
	require.True(t, recipe.Ours(recipe.Stem(newIdentities().id(), recipe.Exclusive)+"0000000041"))
	for _, name := range []string{
		"_c_4e0b1b1e-5f7c-4b43-9d2d-3c1e2b5f7a90-lock-0000000041", // Curator's
		"4e0b1b1e-5f7c-4b43-8000-000000000001-lock-0000000041",
		"_c_4e0b1b1e-5f7c-4b43-8000-000000000001", // no lock node
		"_c_", "", "config",
	} {
		require.False(t, recipe.Ours(name), name)
	}
}
