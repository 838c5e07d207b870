package client

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// MaxFrame is the longest request that a server takes by default (jute.maxbuffer); a longer one
// gets the connection cut.
const MaxFrame = 0xfffff

// CreateSize returns how long the create of a node below dir may be, in bytes, with a check of
// another node there, or with dir and all above it, if their lists are short.
func CreateSize(dir string, data []byte, acl []zk.ACL) int {
	const overhead, parent = 192, 80 // headers, the nodes' names, the flags
	depth := strings.Count(dir, "/")
	return overhead + depth*parent + (depth+1)*len(dir) + len(data) + sizeOf(acl)
}

func sizeOf(acl []zk.ACL) (size int) {
	for _, a := range acl {
		size += 12 + len(a.Scheme) + len(a.ID)
	}
	return size
}

// CheckCreate returns an error if such a create is longer than MaxFrame.
func CheckCreate(dir string, data []byte, acl []zk.ACL) error {
	if size := CreateSize(dir, data, acl); size > MaxFrame {
		return fmt.Errorf("with %d bytes of data and an access list of %d entries a node's create takes %d bytes, and ZooKeeper accepts %d (1 MiB)",
			len(data), len(acl), size, MaxFrame)
	}
	return nil
}

// fits returns an error if a request is longer than the servers take, which makes nodes in dir by so many
// operations.
func (c *Client) fits(size, operations int, dir string) error {
	if size > MaxFrame {
		return fmt.Errorf("%d operations have to go out by one request, which takes %d bytes with these access lists and data, and ZooKeeper accepts %d (1 MiB); make %s ahead of time: %w",
			operations, size, MaxFrame, dir, errTooLong)
	}
	return c.Fits(size)
}

const errTooLong = Final("the request is too long")

// maxBatch bounds the paths in one request, in bytes: a server cuts the connection at a request
// longer than MaxFrame. A request that deletes nodes names as many others beside them.
const maxBatch = 256 << 10

// Batches splits items so that the paths of each part fit one request; size returns how long
// those of an item are. What the servers hang up on gets smaller, down to one item.
func Batches[T any](c *Client, items []T, size func(T) int) (parts [][]T) {
	total, most := 0, c.frames.batch()
	for _, item := range items {
		more := size(item)
		if total += more; len(parts) == 0 || total > most {
			parts, total = append(parts, nil), more
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], item)
	}
	return parts
}
