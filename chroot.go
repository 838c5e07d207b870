package zklock

import (
	"fmt"
	"strings"

	"github.com/zklock/zklock/internal/recipe"
)

// splitChroot takes the chroot off the last server, which may carry one for the whole list, as
// in the connection strings of ZooKeeper's other clients: zk1:2181,zk2:2181/app.
func splitChroot(servers []string) (addresses []string, chroot string, err error) {
	addresses = make([]string, len(servers))
	for i, server := range servers {
		address, path, found := strings.Cut(server, "/")
		addresses[i] = address
		switch {
		case !found:
		case i < len(servers)-1:
			return nil, "", fmt.Errorf("server %q: only the last one may carry a path, for the whole list", server)
		case path != "":
			chroot = "/" + path
		}
	}
	if chroot != "" {
		err = recipe.CheckPath(chroot)
	}
	return addresses, chroot, err
}
