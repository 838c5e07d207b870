package client

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"

	"github.com/zklock/zklock/internal/recipe"
)

// CheckServers refuses what could only be dialled in vain.
func CheckServers(servers []string) error {
	if len(servers) == 0 {
		return errors.New("the server list is empty: name at least one as host:port")
	}
	for _, server := range servers {
		if err := checkServer(server); err != nil {
			return fmt.Errorf("server %q: %w; each server is one string, host:port", server, err)
		}
	}
	return nil
}

// checkServer says what is wrong with one server. The port may be missing.
func checkServer(server string) error {
	switch {
	case strings.TrimSpace(server) == "":
		return errors.New("it is empty")
	case strings.Contains(server, ","):
		return errors.New("these are several")
	case strings.Contains(server, "://"):
		return errors.New("it is no URL")
	case strings.Contains(server, "/"):
		return errors.New("it has a path")
	case strings.ContainsFunc(server, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return errors.New("it has a blank")
	case net.ParseIP(server) != nil && strings.Contains(server, ":"):
		return fmt.Errorf("an IPv6 address is put in brackets, as in [%s]:2181", server)
	case !strings.Contains(server, ":"):
		return nil // go-zookeeper adds ZooKeeper's own port
	}
	host, port, err := net.SplitHostPort(server)
	switch n, bad := strconv.ParseUint(port, 10, 16); {
	case err != nil:
		return errors.New(err.(*net.AddrError).Err)
	case host == "":
		return errors.New("the host is missing")
	case bad != nil || n == 0:
		return fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return nil
}

// SplitChroot takes the chroot off the last server, which may carry one for the whole list, as
// in the connection strings of ZooKeeper's other clients: zk1:2181,zk2:2181/app.
func SplitChroot(servers []string) (addresses []string, chroot string, err error) {
	addresses = make([]string, len(servers))
	for i, server := range servers {
		address, path, found := strings.Cut(server, "/")
		addresses[i] = address
		switch {
		case strings.Contains(server, "://"):
			addresses[i] = server // which CheckServers refuses
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
