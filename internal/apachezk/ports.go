package apachezk

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// The candidates lie below the range from which operating systems take the
// ports of outgoing connections: otherwise any client could take the port of
// a server that is down for a moment, even by connecting to itself.
const lowestPort, highestPort = 12000, 31999

type ports struct{ client, quorum, election int }

// freePorts picks ports for n servers. Somebody else may take one before the
// server binds it.
func freePorts(n int) ([]ports, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	take := func() (int, error) {
		var refused error
		for range 100 {
			port := lowestPort + rand.IntN(highestPort-lowestPort+1)
			l, err := net.Listen("tcp", hostPort(port))
			if err == nil {
				held = append(held, l)
				return port, nil
			}
			refused = err
		}
		return 0, fmt.Errorf("no free port: %w", refused)
	}
	all := make([]ports, n)
	for i := range all {
		for _, port := range []*int{&all[i].client, &all[i].quorum, &all[i].election} {
			var err error
			if *port, err = take(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
