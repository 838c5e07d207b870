package zktest

import (
	"maps"
	"slices"
	"time"
)

// Stat is a node's metadata as ZooKeeper reports it.
type Stat struct {
	Czxid          int64
	Mzxid          int64
	Ctime          int64 // milliseconds since 1970
	Mtime          int64
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// node is one node of a tree. data and acl are shared between the servers of an ensemble and never written to.
type node struct {
	data      []byte
	acl       []ACL
	children  map[string]struct{}
	owner     int64 // session of an ephemeral node, else 0
	container bool
	ttl       time.Duration

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	created             int32 // children ever created: ZooKeeper's stored cversion, and the next sequence number
}

func (n *node) stat() Stat {
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion,
		// DataNode.copyStat: stored is the count of creates, reported is the count of creates and deletes.
		Cversion:       n.created*2 - int32(len(n.children)),
		EphemeralOwner: n.owner,
		DataLength:     int32(len(n.data)),
		NumChildren:    int32(len(n.children)),
	}
}

func (n *node) addChild(name string) {
	if n.children == nil {
		n.children = make(map[string]struct{})
	}
	n.children[name] = struct{}{}
}

// names returns the children in their order.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

func (n *node) clone() *node {
	c := *n
	c.children = maps.Clone(n.children)
	return &c
}
