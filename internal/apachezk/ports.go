//go:build unix

package apachezk

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// The ports lie below the range from which operating systems take the ports of
// outgoing connections: otherwise any client could take the port of a server
// that is down for a moment, even by connecting to itself.
const (
	lowestPort  = 12000
	blocks      = 600
	blockSize   = 32
	perServer   = 4
	mostServers = (blockSize - 1) / perServer
)

type ports struct{ client, quorum, election, secure int }

// member is what a server's line in the configuration of an ensemble says.
func (p ports) member() string {
	return fmt.Sprintf("%s:%d:%d;%s:%d", loopback, p.quorum, p.election, loopback, p.client)
}

// reservation is a block of ports. Whoever listens on the first has the others
// to himself, among all that use this package on the machine. Only a program
// that does not may take one before the server binds it.
type reservation struct {
	guard   net.Listener
	servers []ports
}

// reservePorts finds ports for n servers.
func reservePorts(n int) (*reservation, error) {
	if n < 1 || n > mostServers {
		return nil, fmt.Errorf("%d servers: there must be between 1 and %d", n, mostServers)
	}
	var taken error
	for range 100 {
		r, err := reserveBlock(lowestPort+rand.IntN(blocks)*blockSize, n)
		if err == nil {
			return r, nil
		}
		taken = err
	}
	return nil, fmt.Errorf("no free ports: %w", taken)
}

func reserveBlock(first, n int) (*reservation, error) {
	guard, err := net.Listen("tcp", hostPort(first))
	if err != nil {
		return nil, err
	}
	r := &reservation{guard: guard}
	for i := range n {
		port := first + 1 + perServer*i
		r.servers = append(r.servers, ports{client: port, quorum: port + 1, election: port + 2, secure: port + 3})
	}
	for port := first + 1; port <= first+perServer*n; port++ {
		probe, err := net.Listen("tcp", hostPort(port))
		if err != nil {
			r.release()
			return nil, err
		}
		probe.Close()
	}
	return r, nil
}

func (r *reservation) release() { r.guard.Close() }

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
