package client

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// WatchChildren lists a node by go-zookeeper, and leaves a watch that tells when that changes. A node that
// is not there has no children and no stat: then the watch is on its path.
func WatchChildren(conn *zk.Conn, path string) (names []string, stat *zk.Stat, changed <-chan zk.Event, err error) {
	for {
		names, stat, changed, err = conn.ChildrenW(path)
		if !errors.Is(err, zk.ErrNoNode) {
			return names, stat, changed, err
		}
		var there bool
		if there, _, changed, err = conn.ExistsW(path); !there { // otherwise it was made between the two
			return nil, nil, changed, err
		}
	}
}
