// Package wire makes the connections that go-zookeeper speaks over, and carries the lock's own
// requests between its frames. go-zookeeper tells neither when a request's frame went out, nor on
// which connection, nor what the reply's header said, nor when a server was silent for too long; a
// lock's safety depends on each of these.
//
// A [Dialer] makes one connection after the other, each a [Link], and tells its [Session] when
// one stands and when it has ended. [Link.Send] sends a [Request], which is answered over that link
// or fails with it. Nothing here knows what a lock is. The session is called with no mutex held;
// only who ends the same link once more waits meanwhile.
package wire

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// Session is what the connections of a Dialer are for. Its methods are called by go-zookeeper's
// goroutines, also under the client's locks: they neither block nor call the client.
type Session interface {
	// ID returns the ZooKeeper session that the client goes on with, 0 if it makes one.
	ID() int64
	// Left returns the session timeout to reckon with, and how much the lease has left: none if
	// nothing is under it, or if no server could answer in that time.
	Left() (timeout, left time.Duration)
	// Asks takes that a connect request is about to be sent on a link, at that instant.
	Asks(at clock.Instant)
	// Connected takes the answer to a connect request, before the client has it: the session
	// that the link carries, by its ID (0 says that the session has expired), and the timeout
	// that the server grants.
	Connected(l *Link, timeout time.Duration)
	// Disconnected takes the end of a link, once.
	Disconnected(l *Link, cause error)
	// Served takes that the session is served over l, once: the server has accepted it, and each
	// login. It is no proof that the session lives, which takes a request that is answered.
	Served(l *Link)
	// Failed takes why there is no link yet.
	Failed(cause error)
	// Spawn runs f in a goroutine that the session's end waits for. It reports whether it does:
	// a session that is closed runs nothing.
	Spawn(f func()) bool
}

// Log takes what is worth telling.
type Log interface {
	Debug(message string, args ...any)
	Warn(message string, args ...any)
}
