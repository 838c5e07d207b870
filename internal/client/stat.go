package client

import (
	"math"

	"github.com/go-zookeeper/zk"
)

// IsEphemeral reports whether a node goes with its session, and can have no children. Containers,
// and nodes with a time to live, have numbers where others have their session.
func IsEphemeral(stat *zk.Stat) bool {
	owner := stat.EphemeralOwner
	return owner != 0 && owner != math.MinInt64 && uint64(owner)>>56 != 0xff
}
