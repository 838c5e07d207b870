package faultproxy

import (
	"context"
	"net"
	"sync"
)

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	ctx    context.Context // done when the link is cut
	cancel context.CancelFunc
	tap    func(dir Direction, frame []byte) // may be nil

	mu      sync.Mutex       // guards the fields below; nothing is locked under it
	server  *net.TCPConn     // nil until the target has accepted
	awaited map[int32]*order // by the xid of the request
}

func (l *link) run() {
	defer l.proxy.forget(l)
	defer l.cut()
	if !l.proxy.awaitThaw(l.ctx, ClientToServer) || !l.proxy.awaitThaw(l.ctx, ServerToClient) {
		return
	}
	server, err := new(net.Dialer).DialContext(l.ctx, "tcp", l.proxy.target)
	if err != nil {
		l.reset()
		return
	}
	if !l.attach(server.(*net.TCPConn)) {
		return
	}
	requests := &flow{link: l, dir: ClientToServer, src: l.client, dst: l.server, queue: make(chan parcel, inFlight)}
	replies := &flow{link: l, dir: ServerToClient, src: l.server, dst: l.client, queue: make(chan parcel, inFlight)}

	// The readers outlive the writers if the link is cut; they end when their
	// connections have been closed.
	var readers, writers sync.WaitGroup
	for _, f := range []*flow{requests, replies} {
		readers.Go(f.read)
		writers.Go(f.write)
	}
	writers.Wait()
	l.cut()
	readers.Wait()
}

// attach reports false if the link was cut while the target was being dialed.
func (l *link) attach(server *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		server.Close()
		return false
	}
	l.server = server
	return true
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
}

func (l *link) reset() {
	l.mu.Lock()
	_ = l.client.SetLinger(0) // fails if it is closed already
	if l.server != nil {
		_ = l.server.SetLinger(0)
	}
	l.mu.Unlock()
	l.cut()
}
