package main_test

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// relay stands between zklock and the server.
type relay struct {
	addr string

	mu     sync.Mutex
	conns  []net.Conn
	silent bool
	total  int
}

func newRelay(t *testing.T, server string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{addr: l.Addr().String()}
	t.Cleanup(func() {
		l.Close()
		r.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			r.carry(client, server)
		}
	}()
	return r
}

func (r *relay) carry(client net.Conn, server string) {
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		client.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, client, upstream)
	r.total++
	r.mu.Unlock()
	go r.copy(client, upstream)
	go r.copy(upstream, client)
}

func (r *relay) copy(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		r.mu.Lock()
		silent := r.silent
		r.mu.Unlock()
		if silent {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// silence swallows everything from now on, in both directions.
func (r *relay) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = true
}

// cut closes the connections; new ones may be made.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// count returns how many connections have been made.
func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}
