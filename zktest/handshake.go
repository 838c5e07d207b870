package zktest

import (
	"bytes"
	"time"
)

// connect serves the first frame of a connection: a new session, or one that the client brings along.
func (c *conn) connect(frame []byte) {
	d := &decoder{buf: frame}
	d.int32() // protocol version
	seen, asked, id, password := d.int64(), d.int32(), d.int64(), d.bytes()
	c.readOnly = len(d.buf) > 0
	// A client that has seen more than this server has to find another: it would read the past.
	if d.err != nil || seen > c.srv.zxid {
		c.shut()
		return
	}
	c.timeout = c.srv.negotiate(time.Duration(asked) * time.Millisecond)
	q := &request{record: record{op: OpConnect}, conn: c, session: id, timeout: c.timeout, who: c.who}
	if c.struck(q, frame) {
		return
	}
	c.asked = true
	c.srv.e.requests[OpConnect]++
	c.pending = append(c.pending, q)
	c.in.holds++ // ZooKeeper reads no further until the handshake is answered
	answer := func(valid bool) {
		if !valid {
			q.session = 0
		}
		q.finish(ok, c.welcome)
	}
	switch {
	case id == 0:
		q.session = c.srv.newSessionID()
		c.session = q.session
		c.srv.forward(q)
	case !bytes.Equal(password, sessionPassword(id)):
		c.srv.hangUpOn(id) // ZooKeeper does so before it looks at the password
		answer(false)
	default:
		c.srv.hangUpOn(id)
		c.session = id // from now on, so that the session's end or a later resume hangs up on this one
		c.srv.reopen(id, c.timeout, answer)
	}
}

// hangUpOn closes the connections that a session has here.
func (s *Server) hangUpOn(session int64) {
	for _, c := range s.sortedConns() {
		if c.session == session {
			c.shut()
		}
	}
}

// reopen asks whoever counts the sessions whether id is still alive.
func (s *Server) reopen(id int64, timeout time.Duration, answer func(valid bool)) {
	if s.leader != nil {
		answer(s.leader.tracker.move(id, timeout, s))
		return
	}
	s.bond.revalidate(id, timeout, answer)
}

// welcome writes the answer to the handshake. An ended session is answered with id 0 and timeout 0.
func (c *conn) welcome(e *encoder) {
	password, timeout := sessionPassword(c.session), c.timeout
	if c.session == 0 {
		password, timeout = make([]byte, 16), 0
	}
	e.int32(0)
	e.int32(int32(timeout.Milliseconds()))
	e.int64(c.session)
	e.bytes(password)
	if c.readOnly {
		e.bool(false)
	}
}

func (s *Server) negotiate(asked time.Duration) time.Duration {
	return min(max(asked, s.minTimeout), s.maxTimeout)
}

// newSessionID follows SessionTrackerImpl.initializeNextSessionId: the server's number in the top byte, then its clock.
func (s *Server) newSessionID() int64 {
	if s.nextSession == 0 {
		s.nextSession = int64(uint64(time.Now().UnixMilli())<<24>>8) | int64(s.index+1)<<56
	}
	s.nextSession++
	return s.nextSession
}

// sessionPassword derives a session's password from its id: java.util.Random(id ^ 0xB3415C00).nextBytes(16).
func sessionPassword(id int64) []byte {
	const multiplier, addend, mask = 0x5DEECE66D, 0xB, 1<<48 - 1
	state := (uint64(id) ^ 0xB3415C00 ^ multiplier) & mask
	password := make([]byte, 0, 16)
	for len(password) < 16 {
		state = (state*multiplier + addend) & mask
		for word, i := uint32(state>>16), 0; i < 4; i++ {
			password = append(password, byte(word))
			word >>= 8
		}
	}
	return password
}
