// Package client is a ZooKeeper session that goes on: requests that end with a context
// although go-zookeeper's do not, tries that are repeated while there is hope, watches and
// lists that many share, the parents of nodes, and the connection's coming and going up
// to the session's end.
//
// A [Client] tells its [Observer] what it has come to know. Nothing here knows what a lock
// is. Its mutexes are taken by whoever holds the observer's, never the other way round.
package client

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
)

// Observer is told of a client's connections, and of what is seen over them. It is called
// by go-zookeeper's goroutines too: it neither blocks nor makes requests that it waits for.
type Observer interface {
	// Left is wire.Session's.
	Left() (timeout, left time.Duration)
	// Asks takes that a connect request is about to be sent.
	Asks(at clock.Instant)
	// Connected takes a connection before anybody has it, with the timeout that the
	// server grants. Its ID is 0 if the ZooKeeper session has expired.
	Connected(l *wire.Link, timeout time.Duration)
	// Disconnected takes the end of a connection when nobody is given it any more.
	Disconnected(l *wire.Link)

	// Listed takes the children of a node.
	Listed(l *wire.Link, dir string, names []string)
	// Deleted takes that a node is gone.
	Deleted(path string)
	// Changed takes that a node says something else.
	Changed(path string)
	// Read takes what a node says that is watched.
	Read(path string, data []byte)
}

// Of returns the client of a *zklock.Session. Package zklock sets it, since that cannot
// be imported here: it is for packages beside it, as membership.
var Of func(session any) *Client
