package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Curator asks with the mark alone, and would write over what the node said.
func TestANodeAsksForItsLockBackByTheMarkAloneOrAheadOfWhatItSaid(t *testing.T) {
	for said, want := range map[string]struct {
		rest  string
		asked bool
	}{
		"":                   {"", false},
		"backup of host a":   {"backup of host a", false},
		" x":                 {" x", false},
		"__REVOKE__":         {"", true},
		"__REVOKE__ x":       {"x", true},
		"__REVOKE__ host a":  {"host a", true},
		"__REVOKE__ ":        {"__REVOKE__ ", false},
		"__REVOKE__x":        {"__REVOKE__x", false},
		"__REVOKE__:host a":  {"__REVOKE__:host a", false},
		"host a __REVOKE__":  {"host a __REVOKE__", false},
		"__REVOKE":           {"__REVOKE", false},
		"__REVOKE__  spaced": {" spaced", true},
	} {
		rest, asked := Revocation([]byte(said))
		require.Equal(t, want.rest, string(rest), "%q", said)
		require.Equal(t, want.asked, asked, "%q", said)
	}
}

func TestWhatANodeSaysIsThereAfterItsLockWasAskedFor(t *testing.T) {
	require.Equal(t, RevokeMark, string(Revoked(nil)), "all that Curator's holders heed")
	require.Equal(t, RevokeMark, string(Revoked([]byte{})))
	for _, said := range []string{"", "x", "host a", " "} {
		rest, asked := Revocation(Revoked([]byte(said)))
		require.True(t, asked, "%q", said)
		require.Equal(t, said, string(rest))
	}
}
