package wire

import (
	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/callback"
)

// hosts hands out the servers in turn. Names are resolved by each dial, under its time limit;
// zk.DNSHostProvider resolves them once and without one.
type hosts struct {
	servers []string
	next    int
}

// NewHosts returns a provider that hands out the servers in turn.
func NewHosts() zk.HostProvider { return &hosts{} }

func (h *hosts) Init(servers []string) error { h.servers = servers; return nil }
func (h *hosts) Len() int                    { return len(h.servers) }
func (h *hosts) Connected()                  {}

func (h *hosts) Next() (server string, retryStart bool) {
	server = h.servers[h.next%len(h.servers)]
	h.next++
	return server, false
}

// steadyHosts keeps go-zookeeper's dial loop from sleeping between the rounds of the servers,
// where nothing wakes it: it pauses in the dialer. The provider is the user's: its functions
// are called apart.
type steadyHosts struct{ zk.HostProvider }

func (h steadyHosts) Len() (n int) {
	callback.Apart(func() { n = h.HostProvider.Len() })
	return n
}

func (h steadyHosts) Connected() { callback.Apart(h.HostProvider.Connected) }

func (h steadyHosts) Next() (server string, retryStart bool) {
	callback.Apart(func() { server, _ = h.HostProvider.Next() })
	return server, false
}
