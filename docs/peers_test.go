package docs_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTestsThatCoverOurPeersCasesAreThere(t *testing.T) {
	tests := sources(t, true, true, "..")
	names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page(t, "peers.md"), -1)
	require.NotEmpty(t, names)
	for _, m := range names {
		require.Contains(t, tests, "\nfunc "+m[1]+"(", "docs/peers.md names a test that is not there")
	}
}
