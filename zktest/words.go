package zktest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// knownWords are the four-letter words that ZooKeeper takes for such. Of them the server answers ruok, srvr, stat, mntr
// and envi, and says of the others what ZooKeeper says of those that 4lw.commands.whitelist does not name.
var knownWords = strings.Fields("conf cons crst dirs dump envi gtmk hash isro mntr ruok srst srvr stat stmk wchc wchp wchs")

func isWord(frame []byte) bool { return slices.Contains(knownWords, string(frame)) }

// word answers a four-letter word, and hangs up.
func (c *conn) word(word []byte) {
	c.send([]byte(c.srv.answerWord(string(word))))
	c.shut()
}

func (s *Server) answerWord(word string) string {
	answer := map[string]func() string{"srvr": s.srvr, "stat": s.stat, "mntr": s.mntr}[word]
	switch {
	case word == "ruok":
		return "imok"
	case word == "envi":
		return "Environment:\nzookeeper.version=" + s.release() + "\n"
	case answer == nil:
		return word + " is not executed because it is not in the whitelist.\n"
	case s.leader == nil && s.bond == nil:
		return "This ZooKeeper instance is not currently serving requests\n"
	default:
		return answer()
	}
}

// release is the version that the words tell.
func (s *Server) release() string {
	version := "3.9.6"
	if !s.e.since(9) {
		version = "3.8.4"
	}
	return version + "-zktest, built on 2026-01-01 00:00 UTC"
}

func (s *Server) mode() string {
	switch {
	case s.leader == nil:
		return "follower"
	case len(s.e.servers) == 1:
		return "standalone"
	default:
		return "leader"
	}
}

func (s *Server) srvr() string {
	return fmt.Sprintf("Zookeeper version: %s\n", s.release()) + s.statistics()
}

func (s *Server) stat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", s.release())
	for _, c := range s.sortedConns() {
		reading := 0 // as SelectionKey.interestOps
		if c.asked {
			reading = 1
		}
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d)\n", c.from(), reading, len(c.pending), c.received, c.sent)
	}
	return b.String() + "\n" + s.statistics()
}

// from is where the connection comes from, with a port of its own if it comes through memory.
func (c *conn) from() string {
	addr := c.nc.RemoteAddr()
	if addr.Network() == "tcp" {
		return addr.String()
	}
	return fmt.Sprintf("127.0.0.1:%d", c.number)
}

func (s *Server) statistics() string {
	text := fmt.Sprintf("Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		s.received, s.sent, len(s.conns), s.outstanding(), s.zxid, s.mode(), s.nodeCount())
	if s.mode() == "leader" {
		text += "Proposal sizes last/min/max: -1/-1/-1\n"
	}
	return text
}

// outstanding is how many requests have come in and are not answered.
func (s *Server) outstanding() (n int) {
	for c := range s.conns {
		n += len(c.pending)
	}
	return n
}

// nodeCount counts as ZooKeeper does, to which the root is two nodes.
func (s *Server) nodeCount() int { return len(s.tree.nodes) + 1 }

func (s *Server) mntr() string {
	var b strings.Builder
	say := func(name string, value any) { fmt.Fprintf(&b, "zk_%s\t%v\n", name, value) }
	say("version", s.release())
	say("server_state", s.mode())
	say("avg_latency", "0.0")
	say("min_latency", 0)
	say("max_latency", 0)
	say("packets_received", s.received)
	say("packets_sent", s.sent)
	say("num_alive_connections", len(s.conns))
	say("outstanding_requests", s.outstanding())
	say("znode_count", s.nodeCount())
	say("watch_count", s.watchCount())
	say("ephemerals_count", s.tree.ephemeralCount())
	say("approximate_data_size", s.tree.size())
	say("global_sessions", len(s.sessions))
	say("uptime", time.Since(s.started).Milliseconds())
	if len(s.e.servers) == 1 {
		return b.String()
	}
	say("quorum_size", len(s.e.servers))
	if s.leader == nil {
		say("peer_state", "following - broadcast")
		return b.String()
	}
	say("peer_state", "leading - broadcast")
	say("learners", len(s.leader.followers))
	say("synced_followers", len(s.leader.followers))
	say("pending_syncs", s.leader.pendingSyncs())
	return b.String()
}

func (s *Server) watchCount() (n int) {
	for _, table := range []watchTable{s.watches.data, s.watches.child} {
		for _, conns := range table.byPath {
			n += len(conns)
		}
	}
	return n
}

func (t *tree) ephemeralCount() (n int) {
	for _, paths := range t.ephemerals {
		n += len(paths)
	}
	return n
}

// size is what the paths and the data take.
func (t *tree) size() (bytes int) {
	for path, n := range t.nodes {
		bytes += len(path) + len(n.data)
	}
	return bytes
}

func (l *leader) pendingSyncs() (n int) {
	for _, p := range l.proposals {
		n += len(p.syncs)
	}
	return n
}
