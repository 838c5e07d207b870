// Package zktest is an in-memory ZooKeeper that speaks the wire protocol: what miniredis is to Redis. Programs that use
// ZooKeeper are tested against it without Java, in real time over TCP or in virtual time inside a testing/synctest
// bubble, and with faults that are hard to arrange with real servers.
//
//	srv := zktest.NewServer(t)
//	conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second)
//
// # Virtual time
//
// Inside a bubble, connect by the server's Dial, which goes through net.Pipe, and do not call Addr, which opens a socket:
//
//	synctest.Test(t, func(t *testing.T) {
//		srv := zktest.NewServer(t)
//		conn, _, err := zk.Connect([]string{srv.PipeAddr()}, 5*time.Second, zk.WithDialer(srv.Dial))
//		...
//	})
//
// # Ensembles
//
// NewEnsemble starts several servers. Writes go through the leader and need a majority; each follower applies them with
// its own lag, and answers reads, pings and, by way of the leader, syncs; the leader answers the syncs of its own clients
// at once. A follower tells the leader which sessions it has heard of only when the leader pings it, each half tick. A
// new leader starts every countdown anew, with the timeout that the session was created with. What a leader had proposed
// and not committed may survive it or not.
//
// # Faults
//
// Sessions: ExpireSession, AgeSession, CutSession, JumpClock. Servers: Freeze and Thaw, Stop and Restart, LoseData, Refuse, Cut, Lag.
// Between servers: Partition, Block, Heal. Between clients and servers: the methods of Client, a place that connections come
// from. Single requests: DropRequest, DropReply, HoldRequest, HoldReply, RefuseRequest. Nodes: SetSequence, and KeepNode and
// LackNode, by which a follower shows for good what the leader has not, or the other way round. Everything left
// to chance comes from the seed of WithSeed; the order in which goroutines run does not, so a seed narrows a run down
// without pinning it.
//
// Nodes, Children, Watches, Sessions and Requests show what is there; Observe reports every committed transaction before
// any client can see it. For what asks a server itself, as a probe does, the four-letter words srvr, ruok, mntr, stat and envi
// are answered without a whitelist that names them, which ZooKeeper does with srvr alone; mntr has the lines that dashboards
// read, envi the version. Latencies are not measured: they say 0. Other words are said not to be in the whitelist.
//
// # What it is not
//
// It is a test double. It keeps nothing on a disk, protects nothing, and is built for trees of thousands of nodes, not
// millions. Missing are quotas, SASL, TLS, reconfiguration, observers, local sessions, read-only mode, super users,
// throttling, and limits on connections: a program that leaks them has to be tested otherwise.
//
// Some things are simpler than in ZooKeeper. Elections are decided by an onlooker who sees every server at once, where
// ZooKeeper exchanges votes, and a server that joins a leader is in sync at that instant. A leader has applied what it
// commits before any follower hears of it; ZooKeeper's may be a moment behind. A server that stands alone answers reads
// while the writes of others are on their way to its disk; ZooKeeper's waits for them.
//
// A conformance suite holds its answers against Apache ZooKeeper 3.8 (with the fix of CVE-2024-23944: 3.8.4, or Debian's
// 3.8.0) and 3.9.6, the odd ones included: in 3.8 a check outside of a multi that succeeds is not answered. WithVersion
// says which of them it is to be. An ensemble of ZooKeeper's breaks down on that check, and in 3.9 on a create that is cut short;
// one of zktest's does not. The test suites of go-zookeeper and of kazoo pass against it, but for what is missing.
package zktest
