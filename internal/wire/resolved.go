package wire

import (
	"context"
	"net"
	"slices"
	"sync"
)

// resolved dials servers by their names. A name may have an address for each server, as that of a
// headless service in Kubernetes does. The net package comes back to the first one as long as that
// accepts connections, though it may hang, and gives it all of the time if that is below 2 s.
type resolved struct {
	mu    sync.Mutex          // guards begun; nothing is locked under it
	begun map[string][]string // by name, the addresses with which a dial has begun, the last one at the end
}

// dial begins with another address each time, and goes on to the next one if that refuses.
func (rs *resolved) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Resolver: resolver()}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return dialer.DialContext(ctx, network, address)
	}
	found, err := dialer.Resolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addresses := make([]string, len(found))
	for i, ip := range found {
		addresses[i] = ip.String()
	}
	return dialEach(ctx, rs.inTurn(host, addresses), func(address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, net.JoinHostPort(address, port))
	})
}

// inTurn returns the addresses of a name, those first that a dial has not begun with for the longest.
// In which order they come from the name server is no matter: it may turn them, too.
func (rs *resolved) inTurn(name string, addresses []string) []string {
	if len(addresses) < 2 {
		return addresses
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	begun := rs.begun[name]
	addresses = slices.Clone(addresses)
	slices.SortStableFunc(addresses, func(a, b string) int { return slices.Index(begun, a) - slices.Index(begun, b) })
	begun = slices.DeleteFunc(begun, func(a string) bool { return a == addresses[0] || !slices.Contains(addresses, a) })
	if rs.begun == nil {
		rs.begun = make(map[string][]string)
	}
	rs.begun[name] = append(begun, addresses[0])
	return addresses
}

// dialEach dials one address after the other, and returns the first connection, or the first error.
func dialEach(ctx context.Context, addresses []string, dial func(address string) (net.Conn, error)) (net.Conn, error) {
	var err error = &net.AddrError{Err: "there is no address"}
	for i, address := range addresses {
		conn, failure := dial(address)
		if failure == nil {
			return conn, nil
		}
		if i == 0 {
			err = failure
		}
		if ctx.Err() != nil {
			break
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
