package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Stale says that a server's data differs from its leader's: it shows a node that the leader has not, or lacks one that
// it has. That is for good (ZOOKEEPER-5010, ZOOKEEPER-4541): a sync does not change it.
type Stale struct {
	Server, Path string
	Keeps        bool // the node, which the leader has not
}

func (s Stale) Error() string {
	what := "lacks %s, which the leader has"
	if s.Keeps {
		what = "shows %s, which the leader has not"
	}
	return fmt.Sprintf("the server %s "+what+": its data is not the ensemble's, and has to be copied from the leader anew", s.Server, s.Path)
}

// shunned are the servers that were found to be stale. Another one is asked first.
type shunned struct {
	mu      sync.Mutex // guards servers; nothing is locked under it
	servers map[string]bool

	dials atomic.Int64 // of a Dialer, since a server last answered a connect request
}

func (sh *shunned) add(server string) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.servers == nil {
		sh.servers = make(map[string]bool)
	}
	sh.servers[server] = true
}

// has reports whether the server is among them, and how many they are.
func (sh *shunned) has(server string) (is bool, all int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.servers[server], len(sh.servers)
}

// errShunned says that a server is not dialled before the others have been.
var errShunned = errors.New("its data was found to differ from its leader's: others are asked first")

// shuns reports whether others are to be dialled before that server.
func (d *Dialer) shuns(address string) bool {
	is, all := d.shunned.has(address)
	return is && d.shunned.dials.Load() < int64(d.servers()-all)
}

// Distrust ends the connection to a server that is stale, and has others asked first from now on.
func (l *Link) Distrust(s Stale) {
	if host, ok := l.oneOfSeveral(); ok {
		l.dialer.names.shunned.add(host)
	} else {
		l.dialer.shunned.add(l.Server)
	}
	if l.end(s) {
		l.dialer.Log.Warn("zklock: a server's data is not its leader's, going to another one", "server", s.Server, "path", s.Path, "cause", s)
	}
	l.Close()
}

// Name is how to find the server: as it was dialled, or by its address if that is a name of several.
func (l *Link) Name() string {
	if _, ok := l.oneOfSeveral(); ok {
		return l.RemoteAddr().String()
	}
	return l.Server
}

// oneOfSeveral returns the server's address without its port if it was dialled by a name of several.
func (l *Link) oneOfSeveral() (host string, ok bool) {
	name, _, _ := net.SplitHostPort(l.Server)
	if !l.dialer.names.several(name) {
		return "", false
	}
	host, _, err := net.SplitHostPort(l.RemoteAddr().String())
	return host, err == nil
}
