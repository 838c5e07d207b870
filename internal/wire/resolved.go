package wire

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// resolved dials servers by their names. A name may have an address for each server, as that of a
// headless service in Kubernetes does. The net package comes back to the first one as long as that
// accepts connections, though it may hang, and gives it all of the time if that is below 2 s.
type resolved struct {
	mu    sync.Mutex          // guards begun; that of shunned is locked under it
	begun map[string][]string // by name, the addresses with which a dial has begun, the last one at the end

	shunned shunned // addresses
}

// several reports whether a name has had several addresses.
func (rs *resolved) several(name string) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	_, several := rs.begun[name]
	return several
}

// dial begins with another address each time.
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
	return dialEach(ctx, rs.inTurn(host, addresses), func(ctx context.Context, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, net.JoinHostPort(address, port))
	})
}

// inTurn returns the addresses of a name, those first that a dial has not begun with for the longest, and last those that
// are shunned.
// In which order they come from the name server is no matter: it may turn them, too.
func (rs *resolved) inTurn(name string, addresses []string) []string {
	if len(addresses) < 2 {
		return addresses
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	begun := rs.begun[name]
	rank := func(address string) int {
		at := slices.Index(begun, address)
		if is, _ := rs.shunned.has(address); is {
			at += len(begun) + 1
		}
		return at
	}
	slices.SortStableFunc(addresses, func(a, b string) int { return rank(a) - rank(b) })
	begun = slices.DeleteFunc(begun, func(a string) bool { return a == addresses[0] || !slices.Contains(addresses, a) })
	if rs.begun == nil {
		rs.begun = make(map[string][]string)
	}
	rs.begun[name] = append(begun, addresses[0])
	return addresses
}

// longestHeadStart is that of net.Dialer before it dials another family of addresses.
const longestHeadStart = 300 * time.Millisecond

// dialEach dials the addresses, each when the one before has failed or has had a head start, and
// returns the first connection, or the first error. Who is slow keeps all of the time, which has to end.
func dialEach(
	ctx context.Context, addresses []string, dial func(ctx context.Context, address string) (net.Conn, error),
) (conn net.Conn, err error) {
	if len(addresses) == 0 {
		return nil, &net.AddrError{Err: "there is no address"}
	}
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	deadline, _ := ctx.Deadline()
	headStart := min(longestHeadStart, time.Until(deadline)/time.Duration(len(addresses)+1))
	timer := time.NewTimer(headStart)
	defer timer.Stop()
	results, begun, over := make(chan result), 0, 0
	for conn == nil && over < len(addresses) {
		var next <-chan time.Time
		if begun < len(addresses) {
			address := addresses[begun]
			begun++
			go func() {
				conn, err := dial(ctx, address)
				results <- result{conn, err}
			}()
			timer.Reset(headStart)
			next = timer.C
		}
		select {
		case r := <-results:
			over++
			conn = r.conn
			if err == nil {
				err = r.err
			}
		case <-next:
		}
	}
	cancel()
	for ; over < begun; over++ {
		if r := <-results; r.conn != nil {
			r.conn.Close()
		}
	}
	if conn != nil {
		return conn, nil
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
