package client

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
)

func TestACreateMayBeAsLongAsARequest(t *testing.T) {
	acl := zk.WorldACL(zk.PermAll)
	most := MaxFrame - CreateSize("/lock", nil, acl)
	require.NoError(t, CheckCreate("/lock", make([]byte, most), acl))
	require.ErrorContains(t, CheckCreate("/lock", make([]byte, most+1), acl), "takes 1048576 bytes, and ZooKeeper accepts 1048575")
	dir := "/" + strings.Repeat("d", 1000)
	for _, ops := range [][]wire.Op{
		{Check(dir + "/another"), {Code: wire.OpCreate, Path: dir + "/node", ACL: acl}},
		{{Code: wire.OpCreate, Path: dir, ACL: acl}, {Code: wire.OpCreate, Path: dir + "/node", ACL: acl}},
	} {
		require.LessOrEqual(t, wire.NewTransaction(ops...).Size(), CreateSize(dir, nil, acl))
	}
	entry := zk.ACL{Scheme: "digest", ID: "somebody"}
	require.Equal(t, CreateSize("/lock", nil, acl)+3*4+len("digest")+len("somebody"), CreateSize("/lock", nil, append(acl, entry)))
}

// A server takes requests of a megabyte, and who deletes names others beside what he deletes.
func TestABatchHasAsManyPathsAsFitAQuarterOfAMegabyte(t *testing.T) {
	size := func(s string) int { return len(s) }
	half, quarter := strings.Repeat("h", 128<<10), strings.Repeat("q", 64<<10)
	require.Empty(t, Batches(new(Client), nil, size))
	require.Equal(t, [][]string{{"", "a"}}, Batches(new(Client), []string{"", "a"}, size), "a server may answer a create with no path")
	require.Equal(t, [][]string{{half, half}, {"a"}}, Batches(new(Client), []string{half, half, "a"}, size), "it is full at the last byte")
	require.Equal(t, [][]string{{"a", half}, {half, quarter}}, Batches(new(Client), []string{"a", half, half, quarter}, size))
	require.Equal(t, [][]string{{half + half + "long"}, {"a", "b"}}, Batches(new(Client), []string{half + half + "long", "a", "b"}, size),
		"what is too long alone goes alone")
}
