// Package faultproxy is a TCP proxy that makes a network fail on command. It
// stands between a ZooKeeper client and a server, where it understands enough
// of the protocol to lose a chosen request or reply, or between any two
// programs, where it passes bytes.
package faultproxy

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction is one way through a proxy, or both.
type Direction int

// The directions, as seen from the program that connects to the proxy.
const (
	ClientToServer Direction = 1 << iota
	ServerToClient
	Both = ClientToServer | ServerToClient
)

// Proxy accepts connections and forwards each to its target. It forwards
// faithfully until one of its methods tells it otherwise. The methods may be
// called from several goroutines, and except for Close from an observer too.
type Proxy struct {
	target   string
	framed   bool // the bytes are frames of ZooKeeper's client protocol
	listener *net.TCPListener
	running  sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	refusing bool
	ways     map[Direction]*way
	slice    int
	changed  chan struct{} // closed and replaced when a way changes
	links    map[*link]struct{}
	orders   []*order
	observe  func(op int32, frame []byte)
	tap      func() func(dir Direction, frame []byte)
}

// way is the state of one direction.
type way struct {
	mode  mode
	delay time.Duration
}

type mode int

const (
	passing mode = iota
	frozen
	dropping
)

// New returns a proxy for clients of the ZooKeeper server at target. Four
// letter words do not pass.
func New(target string) (*Proxy, error) { return listen(target, true) }

// NewRaw returns a proxy for any protocol, such as TLS or that of ZooKeeper
// servers among themselves. The methods that name an operation have no effect
// on it.
func NewRaw(target string) (*Proxy, error) { return listen(target, false) }

func listen(target string, framed bool) (*Proxy, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := &Proxy{
		target:   target,
		framed:   framed,
		listener: listener,
		ways:     map[Direction]*way{ClientToServer: {}, ServerToClient: {}},
		changed:  make(chan struct{}),
		links:    make(map[*link]struct{}),
	}
	p.running.Go(p.accept)
	return p, nil
}

// TB is what Run uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(cleanup func())
	Fatalf(format string, args ...any)
}

// Run is New for the duration of a test.
func Run(tb TB, target string) *Proxy {
	tb.Helper()
	p, err := New(target)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Addr returns the host:port to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close closes the proxy and its connections, and returns when nothing of it
// is left running.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Cut()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if err != nil {
			return
		}
		l := &link{proxy: p, client: client, awaited: make(map[int32]*order), tap: p.newTap()}
		l.ctx, l.cancel = context.WithCancel(context.Background())
		if p.admit(l) {
			p.running.Go(l.run)
		} else {
			l.reset()
		}
	}
}

func (p *Proxy) admit(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refusing {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
