package client

import (
	"errors"
	"path"

	"github.com/go-zookeeper/zk"
)

// MakeParents creates dir, and what is missing above it, as containers, which the
// server removes when they have been left empty.
func MakeParents(conn *zk.Conn, dir string, acl []zk.ACL) error {
	for {
		_, err := conn.CreateContainer(dir, nil, zk.FlagContainer, acl)
		if Refused(err) {
			// A server without containers (before 3.5) has persistent nodes.
			_, err = conn.Create(dir, nil, zk.FlagPersistent, acl)
		}
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || dir == "/":
			return err
		}
		if err := MakeParents(conn, path.Dir(dir), acl); err != nil {
			return err
		}
	}
}
