package faultproxy

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mesh is the network among a set of servers, each known by a number: a raw
// proxy for every connection's origin and destination. It is made for
// apachezk.Config.Route. Blocked bytes are held, as by a network that loses
// packets and senders that repeat them, until Heal.
type Mesh struct {
	mu      sync.Mutex // guards the fields below; a Proxy's is locked under it
	proxies map[hop]*Proxy
	blocked map[path]bool
	delays  map[path]time.Duration
}

// hop is what connections of one kind have in common.
type hop struct {
	from, to int
	addr     string
}

// path is the way of bytes from one server to another, over connections that
// either of them may have opened.
type path struct{ from, to int }

// NewMesh returns a mesh in which nothing is blocked.
func NewMesh() *Mesh {
	return &Mesh{
		proxies: make(map[hop]*Proxy),
		blocked: make(map[path]bool),
		delays:  make(map[path]time.Duration),
	}
}

// Route returns the address at which server from reaches the address addr of
// server to: one that refuses if server to does. It returns addr itself if no
// proxy can be had.
func (m *Mesh) Route(from, to int, addr string) string {
	if !listening(addr) {
		return nowhere
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := hop{from, to, addr}
	p := m.proxies[h]
	if p == nil {
		var err error
		if p, err = NewRaw(addr); err != nil {
			return addr
		}
		m.proxies[h] = p
		m.apply(h, p)
	}
	return p.Addr()
}

// Block holds what server from sends to server to, but not the reverse.
func (m *Mesh) Block(from, to int) {
	m.update(func() { m.blocked[path{from, to}] = true })
}

// Partition blocks all paths between servers of different groups.
func (m *Mesh) Partition(groups ...[]int) {
	m.update(func() {
		for i, group := range groups {
			for _, other := range groups[i+1:] {
				for _, a := range group {
					for _, b := range other {
						m.blocked[path{a, b}], m.blocked[path{b, a}] = true, true
					}
				}
			}
		}
	})
}

// Delay adds d to the time that bytes take from one server to another.
func (m *Mesh) Delay(from, to int, d time.Duration) {
	m.update(func() { m.delays[path{from, to}] = d })
}

// Heal ends all blocks and delays, and delivers what was held.
func (m *Mesh) Heal() {
	m.update(func() {
		clear(m.blocked)
		clear(m.delays)
	})
}

// Close closes the proxies. It must come after the end of the servers.
func (m *Mesh) Close() {
	m.mu.Lock()
	proxies := maps.Clone(m.proxies)
	m.mu.Unlock()
	for _, p := range proxies {
		p.Close()
	}
}

func (m *Mesh) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	for h, p := range m.proxies {
		m.apply(h, p)
	}
}

func (m *Mesh) apply(h hop, p *Proxy) {
	for dir, way := range map[Direction]path{ClientToServer: {h.from, h.to}, ServerToClient: {h.to, h.from}} {
		p.Delay(dir, m.delays[way])
		if m.blocked[way] {
			p.Freeze(dir)
		} else {
			p.Thaw(dir)
		}
	}
}

// nowhere is an address at which connections are refused.
const nowhere = "127.0.0.1:1"

// listening reports whether a program on this machine listens at addr. A proxy
// accepts whoever comes, and resets them when its target refuses; a ZooKeeper
// server that is refused tries again, and one that is reset gives its leader up.
//
// It looks, since a connection made to find out would be seen. Where it cannot, it
// says yes.
func listening(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return true
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return true
	}
	wanted := fmt.Sprintf(":%04X", number)
	looked := false
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		defer f.Close()
		looked = true
		for lines := bufio.NewScanner(f); lines.Scan(); {
			const localAddress, state, listen = 1, 3, "0A"
			fields := strings.Fields(lines.Text())
			if len(fields) > state && fields[state] == listen && strings.HasSuffix(fields[localAddress], wanted) {
				return true
			}
		}
	}
	return !looked
}
