//go:build unix

package apachezk

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
)

// A Route decides where a connection between two servers goes: server from is
// about to connect to server to at addr, and is connected to the address that
// Route returns instead. Servers are named by their IDs. Route is called for
// every connection, from several goroutines.
type Route func(from, to int, addr string) string

// peering carries the connections that one server opens to the others. The
// server's virtual machine uses it as its SOCKS proxy. Giving every server its
// own list of the others' addresses would be simpler and is not enough: in an
// election a server connects to the address that another sends along, which is
// the true one.
type peering struct {
	from     int
	route    Route
	peers    map[netip.AddrPort]int // the others' addresses, to their IDs
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

func newPeering(from int, ensemble []ports, route Route) (*peering, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("peering: %w", err)
	}
	p := &peering{from: from, route: route, peers: make(map[netip.AddrPort]int), listener: listener}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for i, ports := range ensemble {
		p.peers[netip.MustParseAddrPort(hostPort(ports.quorum))] = i + 1
		p.peers[netip.MustParseAddrPort(hostPort(ports.election))] = i + 1
	}
	p.running.Go(p.accept)
	return p, nil
}

// jvmFlags make a virtual machine open all its connections by the peering.
func (p *peering) jvmFlags() []string {
	return []string{
		"-DsocksProxyHost=" + loopback,
		fmt.Sprintf("-DsocksProxyPort=%d", p.listener.Addr().(*net.TCPAddr).Port),
		"-DsocksNonProxyHosts=", // by default all that is local
	}
}

func (p *peering) close() {
	p.cancel()
	p.listener.Close()
	p.running.Wait()
}

func (p *peering) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(p.ctx, func() { conn.Close() })()
			p.serve(conn)
		})
	}
}

// serve reports no error to anybody but the server, which tries again as it
// would after any failed connection.
func (p *peering) serve(conn net.Conn) {
	target, err := acceptSocks(conn)
	if err != nil {
		return
	}
	addr := target.String()
	if to, ok := p.peers[target]; ok {
		addr = p.route(p.from, to, addr)
	}
	peer, err := new(net.Dialer).DialContext(p.ctx, "tcp", addr)
	if err != nil {
		_ = replySocks(conn, socksRefused)
		return
	}
	defer peer.Close()
	defer context.AfterFunc(p.ctx, func() { peer.Close() })()
	if err := replySocks(conn, socksSucceeded); err != nil {
		return
	}
	var copying sync.WaitGroup
	copying.Go(func() { pour(peer, conn) })
	copying.Go(func() { pour(conn, peer) })
	copying.Wait()
}

// pour copies until src ends and passes the end on. After a failure it closes
// both, and with them the other direction.
func pour(dst, src net.Conn) {
	if _, err := io.Copy(dst, src); err == nil {
		err = dst.(*net.TCPConn).CloseWrite()
		if err == nil {
			return
		}
	}
	dst.Close()
	src.Close()
}

// socksRequest is a request or a reply of SOCKS version 5 (RFC 1928), in the
// one form that Java uses for an IPv4 address.
type socksRequest struct {
	Version, Command, Reserved, AddressType byte
	Address                                 [4]byte
	Port                                    uint16
}

const (
	socksVersion     = 5
	socksWithoutAuth = 0
	socksConnect     = 1
	socksIPv4        = 1
	socksSucceeded   = 0
	socksRefused     = 5
)

// acceptSocks returns the address to which conn asks to be connected. A reply
// is due.
func acceptSocks(conn io.ReadWriter) (netip.AddrPort, error) {
	var greeting struct{ Version, Methods byte }
	if err := binary.Read(conn, binary.BigEndian, &greeting); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	if _, err := io.CopyN(io.Discard, conn, int64(greeting.Methods)); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	if _, err := conn.Write([]byte{socksVersion, socksWithoutAuth}); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks greeting: %w", err)
	}
	var request socksRequest
	if err := binary.Read(conn, binary.BigEndian, &request); err != nil {
		return netip.AddrPort{}, fmt.Errorf("socks request: %w", err)
	}
	if request.Version != socksVersion || request.Command != socksConnect || request.AddressType != socksIPv4 {
		return netip.AddrPort{}, fmt.Errorf("socks request is not for an IPv4 connection: %+v", request)
	}
	return netip.AddrPortFrom(netip.AddrFrom4(request.Address), request.Port), nil
}

func replySocks(conn io.Writer, status byte) error {
	reply := socksRequest{Version: socksVersion, Command: status, AddressType: socksIPv4}
	return binary.Write(conn, binary.BigEndian, reply)
}
