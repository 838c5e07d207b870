package membership

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Peer is a member as the watchers see it.
type Peer struct {
	ID      string    // the name of its node; see [Member.ID]
	Data    []byte    // what it says about itself
	Session int64     // that it lives in
	Joined  time.Time // by the server's clock
	// Zxid is the transaction by which it joined. Lists are in its order: the peer
	// that has been there for longest comes first.
	Zxid int64

	changed int64 // the transaction that wrote Data
}

func newPeer(id string, data []byte, stat *zk.Stat) Peer {
	return Peer{
		ID: id, Data: slices.Clone(data), Session: stat.EphemeralOwner,
		Joined: time.UnixMilli(stat.Ctime), Zxid: stat.Czxid, changed: stat.Mzxid,
	}
}

// byAge puts the oldest first. Only one transaction that creates several nodes
// makes the name count.
func byAge(a, b Peer) int {
	return cmp.Or(cmp.Compare(a.Zxid, b.Zxid), strings.Compare(a.ID, b.ID))
}

// same compares the sessions too: servers that have lost their data count transactions anew.
func (p Peer) same(q Peer) bool {
	return p.ID == q.ID && p.Session == q.Session && p.Zxid == q.Zxid && p.changed == q.changed
}
