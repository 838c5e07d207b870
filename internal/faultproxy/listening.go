package faultproxy

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// nowhere is an address at which connections are refused.
const nowhere = "127.0.0.1:1"

// listening reports whether a program on this machine listens at addr. A proxy
// accepts whoever comes, and resets them when its target refuses; a ZooKeeper
// server that is refused tries again, and one that is reset gives its leader up.
//
// It looks, since a connection made to find out would be seen. Where it cannot, it
// says yes.
func listening(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return true
	}
	wanted := fmt.Sprintf(":%04X", number)
	looked := false
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		defer f.Close()
		looked = true
		for lines := bufio.NewScanner(f); lines.Scan(); {
			const localAddress, state, listen = 1, 3, "0A"
			fields := strings.Fields(lines.Text())
			if len(fields) > state && fields[state] == listen && strings.HasSuffix(fields[localAddress], wanted) {
				return true
			}
		}
	}
	return !looked
}
