package zktest

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// Direction is the way that frames take.
type Direction int

// The two ways between a client and a server.
const (
	ToServer Direction = iota
	ToClient
)

// Client is a place in the network that connections come from: a machine, as far as faults are concerned. Programs
// under test connect with its Dial.
type Client struct {
	_    noCopy
	e    *Ensemble
	name string
	cut  [2][]bool // by direction and server
	lag  [2]span   // by direction
}

// noCopy has go vet object to a copy of what it is a field of.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Client returns the place of that name, and makes it when it is first asked for. Connections made by TCP, and by the
// Dial of a server or an ensemble, come from the place named "".
func (e *Ensemble) Client(name string) *Client {
	var c *Client
	e.do(func() {
		if c = e.clients[name]; c == nil {
			c = &Client{e: e, name: name}
			for way := range c.cut {
				c.cut[way] = make([]bool, len(e.servers))
			}
			e.clients[name] = c
		}
	})
	return c
}

// Client is Ensemble.Client.
func (s *Server) Client(name string) *Client { return s.e.Client(name) }

// Name returns the name that [Ensemble.Client] was given.
func (c *Client) Name() string { return c.name }

// Dial connects to the server whose Addr or PipeAddr is addr, through net.Pipe in either case.
func (c *Client) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	for _, s := range c.e.servers {
		if addr == s.PipeAddr() || s.listensOn(addr) {
			return c.dial(s, timeout)
		}
	}
	return nil, fmt.Errorf("zktest: dial %s %s: no such server", network, addr)
}

func (s *Server) listensOn(addr string) bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.addr != "" && s.addr == addr
}

// dial answers as the network would: at once if the server refuses, never if a partition swallows the packets.
func (c *Client) dial(s *Server, timeout time.Duration) (net.Conn, error) {
	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	for {
		nc, changed, err := c.attempt(s)
		if nc != nil || err != nil {
			return nc, err
		}
		select {
		case <-changed:
		case <-expired:
			return nil, dialError(s, os.ErrDeadlineExceeded)
		}
	}
}

// attempt returns neither a connection nor an error while the network is cut, and a channel that closes when it changes.
func (c *Client) attempt(s *Server) (nc net.Conn, changed <-chan struct{}, err error) {
	c.e.do(func() {
		changed = c.e.changed
		switch {
		case c.e.closed:
			err = dialError(s, net.ErrClosed)
		case c.cut[ToServer][s.index] || c.cut[ToClient][s.index]:
		case s.down || s.refusing:
			err = dialError(s, syscall.ECONNREFUSED)
		default:
			var theirs net.Conn
			nc, theirs = net.Pipe()
			s.accept(theirs, c)
		}
	})
	return nc, changed, err
}

func dialError(s *Server, err error) error {
	return &net.OpError{Op: "dial", Net: "zktest", Err: fmt.Errorf("%s: %w", s.PipeAddr(), err)}
}

// Block swallows what travels in that direction between c and the servers, all of them if none is named: frames wait,
// as they do in TCP, and arrive when the way is free again. New connections are not answered.
func (c *Client) Block(way Direction, servers ...*Server) {
	c.setBlock(true, []Direction{way}, servers)
}

// Unblock frees both directions between c and the servers, all of them if none is named.
func (c *Client) Unblock(servers ...*Server) {
	c.setBlock(false, []Direction{ToServer, ToClient}, servers)
}

func (c *Client) setBlock(cut bool, ways []Direction, servers []*Server) {
	c.e.do(func() {
		if len(servers) == 0 {
			servers = c.e.servers
		}
		for _, s := range servers {
			for _, way := range ways {
				c.cut[way][s.index] = cut
			}
		}
		c.e.networkChanged()
	})
}

// Delay adds a time between the bounds to every frame of c's that takes that direction from now on.
func (c *Client) Delay(way Direction, shortest, longest time.Duration) {
	c.e.do(func() { c.lag[way] = span{shortest, longest} })
}

// latency draws how long a frame of c's takes.
func (c *Client) latency(way Direction) time.Duration {
	return c.e.draw(c.e.latency) + c.e.draw(c.lag[way])
}
