package wire

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// resolved dials servers by their names. A name may have an address for each server, as that of a
// headless service in Kubernetes does. The net package gives the first of them all of the time, if
// that is below 2 s, and comes back to it as long as it accepts connections, though it may hang.
type resolved struct {
	mu    sync.Mutex     // guards turns; nothing is locked under it
	turns map[string]int // dials of a name that has several addresses
}

// dial begins with another address each time.
func (rs *resolved) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Resolver: resolver()}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return dialer.DialContext(ctx, network, address)
	}
	addresses, err := dialer.Resolver.LookupHost(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return dialEach(ctx, rs.inTurn(host, addresses), func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, net.JoinHostPort(address, port))
	})
}

// inTurn returns the addresses of a name from another one on each time.
func (rs *resolved) inTurn(name string, addresses []string) []string {
	n := len(addresses)
	if n < 2 {
		return addresses
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.turns == nil {
		rs.turns = make(map[string]int)
	}
	first := rs.turns[name] % n
	rs.turns[name]++
	return slices.Concat(addresses[first:], addresses[:first])
}

// dialEach dials one address after the other, each with its share of the time that is left, and
// returns the first connection, or the first error.
func dialEach(
	ctx context.Context, addresses []string, dial func(ctx context.Context, address string) (net.Conn, error),
) (conn net.Conn, err error) {
	deadline, _ := ctx.Deadline()
	for i, address := range addresses {
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addresses)-i))
		conn, failure := dial(share, address)
		cancel()
		if failure == nil {
			return conn, nil
		}
		if err == nil {
			err = failure
		}
	}
	return nil, err
}

// resolver returns the default one, whose questions to name servers end with their ctx. By itself
// it waits for seconds for an answer that nobody wants any more.
func resolver() *net.Resolver {
	usual := net.DefaultResolver
	dial := usual.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return &net.Resolver{
		PreferGo: usual.PreferGo, StrictErrors: usual.StrictErrors,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err == nil {
				context.AfterFunc(ctx, func() { conn.Close() })
			}
			return conn, err
		},
	}
}
