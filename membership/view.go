package membership

import (
	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

// view is something of a node that can be read and watched.
type view struct {
	path string
	of   aspect
}

type aspect uint8

const (
	children aspect = iota
	data
)

// reading is what one read of a view showed.
type reading struct {
	names []string // of the children
	data  []byte
	stat  *zk.Stat // nil of a node that is not there, which has no children
	// changed is closed, after an event perhaps, when what was read has changed or
	// the watch has ended with its session. Without a watch it is nil.
	changed <-chan zk.Event
}

// watch reads the view and leaves a watch on it; for children, also on a node that is not there.
func (v view) watch(conn *zk.Conn) (r reading, err error) {
	if v.of == data {
		r.data, r.stat, r.changed, err = conn.GetW(v.path)
	} else {
		r.names, r.stat, r.changed, err = client.WatchChildren(conn, v.path)
	}
	return r, err
}

// check reads as much of the view as tells whether it has changed, without a watch.
func (v view) check(conn *zk.Conn) (r reading, err error) {
	there, stat, err := conn.Exists(v.path)
	if there {
		r.stat = stat
	}
	return r, err
}

// shows reports whether r and other have read the same of the aspect.
func (r reading) shows(other reading, of aspect) bool {
	switch {
	case r.stat == nil || other.stat == nil:
		return r.stat == other.stat
	case of == children:
		return client.GenerationOf(r.stat) == client.GenerationOf(other.stat)
	}
	return r.stat.Mzxid == other.stat.Mzxid
}
