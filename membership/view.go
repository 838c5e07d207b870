package membership

import (
	"github.com/go-zookeeper/zk"
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
	existence
)

// reading is what one read of a view showed.
type reading struct {
	names []string // of the children
	data  []byte
	stat  *zk.Stat // nil if the node's existence was asked for and it is not there
	// changed is closed, after an event perhaps, when what was read has changed or
	// the watch has ended with its session. Without a watch it is nil.
	changed <-chan zk.Event
}

// watch reads the view and leaves a watch on it.
func (v view) watch(conn *zk.Conn) (r reading, err error) {
	switch v.of {
	case children:
		r.names, r.stat, r.changed, err = conn.ChildrenW(v.path)
	case data:
		r.data, r.stat, r.changed, err = conn.GetW(v.path)
	case existence:
		var there bool
		if there, r.stat, r.changed, err = conn.ExistsW(v.path); !there {
			r.stat = nil
		}
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

// version is a number that is another one after each change of the aspect.
func (r reading) version(of aspect) int64 {
	switch {
	case r.stat == nil:
		return 0
	case of == children:
		return r.stat.Pzxid
	case of == data:
		return r.stat.Mzxid
	}
	return r.stat.Czxid
}
