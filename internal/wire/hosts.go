package wire

import "github.com/go-zookeeper/zk"

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
// where nothing wakes it: it pauses in the dialer.
type steadyHosts struct{ zk.HostProvider }

func (h steadyHosts) Next() (server string, retryStart bool) {
	server, _ = h.HostProvider.Next()
	return server, false
}
