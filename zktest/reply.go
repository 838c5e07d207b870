package zktest

// newReply starts a frame with the header of a reply.
func newReply(xid int32, zxid int64, c code) *encoder {
	e := newFrame()
	e.int32(xid)
	e.int64(zxid)
	e.int32(int32(c))
	return e
}

// encodeResult writes the body that answers a committed transaction.
func encodeResult(e *encoder, t *txn, stats []Stat) {
	switch t.op {
	case OpConnect:
		t.req.conn.welcome(e)
	case OpCloseSession:
	case OpMulti:
		encodeMulti(e, t.actions, stats)
	default:
		encodeAction(e, t.actions[0], stats[0])
	}
}

func encodeAction(e *encoder, a action, s Stat) {
	switch a.op {
	case OpCreate:
		e.string(a.path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		e.string(a.path)
		e.stat(s)
	case OpSetData, OpSetACL:
		e.stat(s)
	case opError:
		e.int32(int32(a.code))
	}
}

func encodeMulti(e *encoder, actions []action, stats []Stat) {
	for i, a := range actions {
		a.op = multiResult(a.op)
		multiHeader(e, a.op, false, a.code)
		encodeAction(e, a, stats[i])
	}
	multiHeader(e, -1, true, -1)
}

// multiResult is the operation whose result stands for o's in the answer to a multi.
func multiResult(o Op) Op {
	if o == OpCreateContainer || o == OpCreateTTL {
		return OpCreate2
	}
	return o
}

func multiHeader(e *encoder, op Op, last bool, c code) {
	e.int32(int32(op))
	e.bool(last)
	e.int32(int32(c))
}
