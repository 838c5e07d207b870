package client

import (
	"math"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestContainersAndNodesWithATimeToLiveGoWithNoSession(t *testing.T) {
	for owner, want := range map[int64]bool{
		0: false, 0x100006953d8000e: true, -0x7effff96ac27fff2: true, // of a server whose number is 129
		math.MinInt64: false, -1 << 56: false, -1<<56 + 1000: false, // containers, and nodes with a time to live
	} {
		require.Equal(t, want, IsEphemeral(&zk.Stat{EphemeralOwner: owner}), "%#x", uint64(owner))
	}
}
