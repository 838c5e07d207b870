package zktest

import "slices"

// handle serves one frame that has arrived.
func (c *conn) handle(frame []byte) {
	switch {
	case c.ended:
	case c.srv.leader == nil && c.srv.bond == nil:
		c.shut() // "ZooKeeperServer not running"
	case !c.asked:
		c.connect(frame)
	default:
		c.request(frame)
	}
}

func (c *conn) request(frame []byte) {
	d := &decoder{buf: frame}
	q := &request{conn: c, session: c.session, timeout: c.timeout, xid: d.int32(), who: c.who}
	op := Op(d.int32())
	if q.record = c.srv.e.decodeRecord(op, d); op == OpConnect || len(frame) < 8 {
		c.shut()
		return
	}
	if c.struck(q, frame) {
		return
	}
	c.srv.e.requests[op]++
	if op == OpAuth {
		c.authenticate(q, d)
		return
	}
	if op == OpCreateContainer && c.srv.e.noContainers {
		c.refuseContainer(q)
		return
	}
	if !c.srv.touch(c) {
		return // MissingSessionException: the request is dropped, the closing of the session is on its way
	}
	c.pending = append(c.pending, q)
	switch {
	case q.fault != nil && q.fault.kind == refuseRequest:
		q.finish(q.fault.code, nil)
	case c.srv.e.alone(op):
		q.finish(unimplemented, nil)
	case q.malformed && c.srv.e.decodedFirst(op):
		q.finish(marshallingError, nil)
	case c.srv.waits(q):
		c.srv.forward(q)
	default:
		c.drain()
	}
}

// decodedFirst reports whether PrepRequestProcessor decodes a request ahead of its zxid, if it gets one.
func (s *settings) decodedFirst(op Op) bool {
	return !op.writes() || op == OpReconfig || op != OpMulti && s.since(9)
}

// alone reports whether op is one that the servers know in a multi only.
func (s *settings) alone(op Op) bool { return op == OpCheck && s.since(9) }

// refuseContainer hangs up on an operation that the server does not know. What goes ahead of it on the connection
// remains without an answer.
func (c *conn) refuseContainer(q *request) {
	if c.srv.e.noContainersSaid {
		c.deliver(q, newReply(q.xid, c.srv.zxid, unimplemented).frame())
	}
	c.shut()
}

// touch counts a request as a sign of life: with the leader at once, with a follower when the leader next asks.
func (s *Server) touch(c *conn) bool {
	if s.leader != nil {
		return s.leader.tracker.touch(c.session, c.timeout)
	}
	s.touched[c.session] = c.timeout
	return true
}

// forward gives a request to the leader. The answer comes back in the log: the server that applies the transaction
// finds its own request in it.
func (s *Server) forward(q *request) {
	if s.leader != nil {
		s.leader.submit(s, q)
		return
	}
	f := s.bond
	f.tell(func() { f.leader.submit(s, q) })
}

// finish decides a request. Its answer goes out when everything that came before it on the connection is answered.
func (q *request) finish(c code, reply func(*encoder)) {
	q.done, q.code, q.reply = true, c, reply
	q.conn.drain()
}

// waits reports whether q is answered by way of the leader. The leader of an ensemble answers the syncs of its own
// clients as it does reads, at once, even when it was deposed without noticing: its CommitProcessor does not match syncs.
func (s *Server) waits(q *request) bool {
	return q.op.writes() || q.op == OpSync && (s.leader == nil || len(s.e.servers) == 1)
}

// drain answers from the head of the line: reads are executed there, so that they see every write ahead of them, and a
// write that is not decided yet holds up everything behind it, pings included (CommitProcessor).
func (c *conn) drain() {
	for len(c.pending) > 0 && !c.ended {
		q := c.pending[0]
		if !q.done && c.srv.waits(q) {
			return
		}
		c.pending = c.pending[1:]
		c.answer(q)
	}
}

func (c *conn) answer(q *request) {
	if !q.done {
		q.code, q.reply = c.srv.read(q)
	}
	var e *encoder
	hangup := false
	switch {
	case q.op == OpConnect:
		e = newFrame()
		c.session = q.session
		c.in.release()
		q.reply(e)
		hangup = c.session == 0
	case q.code == sessionMoved: // FinalRequestProcessor hangs up instead of sending that
		c.shut()
		return
	case q.op == OpCheck && q.code == ok: // it stumbles over the missing stat, and sends nothing
		c.deliver(q, nil)
		return
	default:
		e = newReply(q.replyXid(), c.srv.zxid, q.code)
		if q.code == ok && q.reply != nil {
			q.reply(e)
		}
		hangup = q.code == unimplemented && (!q.op.writes() || c.srv.e.alone(q.op))
	}
	c.deliver(q, e.frame())
	if hangup {
		c.shut()
	}
}

// authenticate answers out of line: ZooKeeper handles it ahead of all that is pending.
func (c *conn) authenticate(q *request, d *decoder) {
	d.int32() // type
	scheme, credentials := d.string(), d.bytes()
	if d.err != nil {
		c.shut()
		return
	}
	result := ok
	switch {
	case scheme == "digest" && credentials != nil:
		if id := digestIdentity(credentials); !slices.Contains(c.who, id) {
			c.who = append(slices.Clone(c.who), id)
		}
	case scheme == "ip":
	default:
		result = authFailed
	}
	c.deliver(q, newReply(q.xid, 0, result).frame())
	if result != ok {
		c.shut()
	}
}

// replyXid is the request's own number, except for pings, which are answered with ClientCnxn.PING_XID always.
func (q *request) replyXid() int32 {
	if q.op == OpPing {
		return -2
	}
	return q.xid
}
