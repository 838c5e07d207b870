// Package zktest is an in-memory ZooKeeper that speaks the wire protocol: what miniredis is to Redis. Programs that use
// ZooKeeper are tested against it without Java, in real time over TCP or in virtual time inside a testing/synctest
// bubble, and with the faults that a real server makes hard to arrange.
//
//	srv := zktest.NewServer(t)
//	conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second)
//
// # In virtual time
//
// Inside a bubble, connect by the server's Dial, which goes through net.Pipe, and do not call Addr, which opens a socket:
//
//	synctest.Test(t, func(t *testing.T) {
//		srv := zktest.NewServer(t)
//		conn, _, err := zk.Connect([]string{srv.PipeAddr()}, 5*time.Second, zk.WithDialer(srv.Dial))
//		...
//	})
//
// # What it is not
//
// It is a test double. It keeps nothing on a disk, survives nothing, authenticates nobody who matters, and is built for
// trees of thousands of nodes, not millions. Quotas, SASL, TLS, reconfiguration, observers, local sessions, read-only
// mode and the four-letter words are missing. Elections are decided by an onlooker who sees every server, where ZooKeeper
// exchanges votes. What it does answer is held against Apache ZooKeeper 3.8 by a conformance suite.
package zktest
