// Package client is a ZooKeeper session that goes on, whatever becomes of its connections. It has
// requests that are waited for under a context ([Client.Send], [Wait]), tries that are repeated
// while there is hope ([Client.Retry]), reads that are new enough to decide something
// ([Client.SendRecent]), watches and lists that many share ([Client.Watch], [Client.JoinList]),
// missing parents ([Parents]), a log that nobody waits for ([Journal]), and an end that leaves
// nothing behind ([Client.Close]).
//
// A [Client] tells its [Observer] of connections, and of what is seen over them. Nothing here
// knows what a lock is. The observer may call the client under a mutex of its own; no mutex of
// the client is held while the observer is called.
package client

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
)

// Observer is told of a client's connections, and of what is seen over them. It is called by
// go-zookeeper's goroutines too: it neither blocks nor makes requests that it waits for.
type Observer interface {
	// Left is wire.Session's.
	Left() (timeout, left time.Duration)
	// Asks takes that a connect request is about to be sent.
	Asks(at clock.Instant)
	// Connected takes a connection before anybody has it, with the timeout that the server
	// grants. Its ID is 0 if the ZooKeeper session has expired.
	Connected(l *wire.Link, timeout time.Duration)
	// Disconnected takes the end of a connection when nobody is given it any more.
	Disconnected(l *wire.Link)

	// Listed takes the children of a node.
	Listed(l *wire.Link, dir string, names []string)
	// Deleted takes that a node is gone, before its watch ends.
	Deleted(path string)
	// Changed takes that a node says something else.
	Changed(path string)
	// Read takes what was read with a watch.
	Read(path string, said Content)
}

// Of returns the client of a *zklock.Session. Package zklock sets it, since that cannot be
// imported here: it is for packages beside it, as membership.
var Of func(session any) *Client
