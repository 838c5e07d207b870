package client

import (
	"errors"
	"path"

	"github.com/go-zookeeper/zk"
)

// MakeParents creates dir and what is missing above it, by create.
func MakeParents(dir string, create func(dir string) error) error {
	for {
		err := create(dir)
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode) || dir == "/":
			return err
		}
		if err := MakeParents(path.Dir(dir), create); err != nil {
			return err
		}
	}
}
