package wire

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/zklock/zklock/internal/lease"
)

// ask sends the connect request. If there are holds to be saved it sends its length ahead,
// which is all that a server reads that serves nobody, as in an election: it hangs up then, and
// cannot carry out what it has not got.
func (l *Link) ask(p []byte) (n int, err error) {
	l.begun = l.dialer.Clock.Now()
	named := l.dialer.told.last
	if timeout, left := l.dialer.session.Left(); left > 0 {
		const length = 4
		if n, err = l.announce(p[:length], lease.AnnounceLimit(timeout, left)); err != nil {
			l.end(err)
			return n, err
		}
	} else if named != 0 && l.dialer.lostData.due(l.dialer.Clock.Now(), timeout, l.dialer.servers()) {
		l.trust, named = asked, 0
	}
	p = naming(p, seenAt, named)
	l.Asked = l.dialer.Clock.Now()
	l.dialer.session.Asks(l.Asked)
	l.limit = l.dialer.handshakeLimit()
	// Unanswered, go-zookeeper's handshake blocks for minutes: between header and body it
	// clears its own deadline. Ours stands until the handshake is over.
	l.bearSilence(l.limit)
	more, err := l.Conn.Write(p[n:])
	return n + more, err
}

// announce writes the beginning of a frame, and returns an error if the server hangs up within
// that time. That is not left to a deadline: a user's connection may have none. Whoever reads
// next waits for the read that was begun.
func (l *Link) announce(beginning []byte, within time.Duration) (int, error) {
	l.bearSilence(l.dialer.patience())
	n, err := l.Conn.Write(beginning)
	if err != nil {
		return n, err
	}
	hangUp := make(chan error, 1)
	if !l.dialer.session.Spawn(func() {
		_, err := l.in.Peek(1)
		hangUp <- err
	}) {
		return n, net.ErrClosed
	}
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case err = <-hangUp:
	case <-late.C:
		l.hangUp = hangUp
	}
	return n, err
}

// The answer to the connect request is no shorter than a session without a password, and no
// longer than this. go-zookeeper makes room for as much as its first bytes say, and those of an
// HTTP server are a gigabyte. A password that does not fit its next connect request would be the
// end of all connections.
const (
	shortestGreeting = 20
	longestGreeting  = 1 << 10
	longestPassword  = 128
)

// readGreeting reads the answer to the connect request, if it is a ZooKeeper server's.
func (l *Link) readGreeting() ([]byte, error) {
	begins, err := l.in.Peek(4)
	if err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(begins)
	if length < shortestGreeting || longestGreeting < length {
		begins, _ = l.in.Peek(min(l.in.Buffered(), frameHead))
		return nil, foreign(begins)
	}
	greeting, err := readFrame(l.in, int(length), l.room)
	if err == nil && !greets(greeting) {
		err = foreign(greeting[:frameHead])
	}
	return greeting, err
}

// greets reports whether a frame is an answer to a connect request. A session that has no time,
// as the echo of the request would have it, would make go-zookeeper panic.
func greets(frame []byte) bool {
	timeout, id := int32(binary.BigEndian.Uint32(frame[8:])), binary.BigEndian.Uint64(frame[12:])
	rest := reader{left: frame[frameHead:]}
	password := rest.buffer()
	return rest.err == nil && len(password) <= longestPassword && (timeout > 0 || id == 0)
}

// greet takes the answer to the connect request.
func (l *Link) greet(greeting []byte) {
	l.greeted.Store(true)
	l.ID = int64(binary.BigEndian.Uint64(greeting[12:]))
	roundTrip := l.dialer.Clock.Now().Least(l.Asked)
	timeout := time.Duration(binary.BigEndian.Uint32(greeting[8:])) * time.Millisecond
	if l.trust == asked && l.ID == l.dialer.session.ID() {
		l.trust = lagging
		l.dialer.lostData.lives(timeout)
		return
	}
	l.dialer.lostData.answered()
	l.dialer.shunned.dials.Store(0)
	if l.trust == asked {
		l.dialer.Log.Warn("zklock: the servers may have lost their data", "server", l.Server)
	}
	loggedIn := l.ID == 0 || l.authenticate()
	roundTrips := time.Duration(1 + l.dialer.logins.Load()) // of the first proof: the logins go ahead, one behind the other
	l.dialer.Lease.Connected(l.Asked, roundTrips*roundTrip)
	if l.ID != l.dialer.session.ID() {
		l.dialer.told.begin()
	}
	if l.ID != 0 {
		l.dialer.told.connected() // before anybody can have the connection: see Watches
	}
	l.dialer.session.Connected(l, timeout)
	if l.ID != 0 { // go-zookeeper dials anew if the session has expired
		l.silence.Stop()
		l.connected.Store(true)
		if l.due = max(l.dialer.logins.Load(), int64(len(l.dialer.Logins))); loggedIn && l.due == 0 {
			l.serve()
		}
	}
}
