package membership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// go-zookeeper has no name for the code, QUOTAEXCEEDED.
func TestAMemberIsToldOfTheQuotaThatLeavesItNoRoom(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		const exceeded = -125
		s := connect(t, server)
		m := join(t, s, "one")
		server.RefuseRequest(zktest.OpCreate, exceeded, zktest.OnPath(path+"/"))
		_, err := membership.Join(t.Context(), s, path, nil)
		require.ErrorContains(t, err, "the quota of "+path)
		require.ErrorContains(t, err, "the member's node")
		server.RefuseRequest(zktest.OpSetData, exceeded, zktest.OnPath(path+"/"))
		require.ErrorContains(t, m.Update(t.Context(), []byte("two")), "the member's data")
		require.NoError(t, m.Update(t.Context(), []byte("three")))
	})
}
