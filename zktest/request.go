package zktest

import "time"

// record is the body of a request. One type for all operations: each fills the fields that its body has.
type record struct {
	op      Op
	path    string
	data    []byte
	acl     []ACL
	flags   int32
	version int32
	ttl     time.Duration
	watch   bool
	mode    int32 // addWatch's mode, removeWatches' kind
	watches watchLists
	ops     []record // multi

	malformed bool // ZooKeeper cannot make sense of it: MARSHALLINGERROR
}

// watchLists are the watches a client brings along when it reconnects, with the last zxid it has seen.
type watchLists struct {
	zxid                                      int64
	data, exist, child, persistent, recursive []string
}

// request is one request of a connection on its way through the servers.
type request struct {
	record
	conn    *conn
	session int64
	timeout time.Duration
	xid     int32
	who     []identity
	cause   Cause  // why a session closes or a node goes, for requests the server makes itself
	fault   *Fault // what shall happen to the reply

	done  bool // decided; for a write: applied at this server
	code  code
	reply func(*encoder)
}

// decodeRecord reads the body of op. Operations that carry nothing the server looks at leave the body alone.
func (s *settings) decodeRecord(op Op, d *decoder) record {
	r := record{op: op}
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		r.path, r.data, r.acl, r.flags = d.present(), d.bytes(), d.acl(), d.int32()
		if op == OpCreateTTL {
			r.ttl = time.Duration(d.int64()) * time.Millisecond
		}
	case OpDelete:
		r.path, r.version = d.present(), d.int32()
	case OpCheck:
		r.path, r.version = d.string(), d.int32()
	case OpSetData:
		r.path, r.data, r.version = d.string(), d.bytes(), d.int32()
	case OpSetACL:
		r.path, r.acl, r.version = d.string(), d.acl(), d.int32()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.path, r.watch = d.present(), d.bool()
	case OpGetACL, OpGetAllChildrenNumber:
		r.path = d.present()
	case OpSync, OpGetEphemerals:
		r.path = d.string()
	case OpCheckWatches:
		if s.since(9) {
			r.path, r.mode = d.string(), d.int32()
		} else {
			r.path, r.mode = d.present(), d.int32()
		}
	case OpRemoveWatches, OpAddWatch:
		r.path, r.mode = d.string(), d.int32()
	case OpReconfig:
		_, _, _, _ = d.string(), d.string(), d.string(), d.int64()
	case OpSetWatches, OpSetWatches2:
		r.watches = decodeWatches(op, d)
	case OpMulti, OpMultiRead:
		r.ops = s.decodeMulti(op, d)
	}
	r.malformed = d.err != nil
	return r
}

func decodeWatches(op Op, d *decoder) watchLists {
	w := watchLists{zxid: d.int64(), data: d.strings(), exist: d.strings(), child: d.strings()}
	if op == OpSetWatches2 {
		w.persistent, w.recursive = d.strings(), d.strings()
	}
	return w
}

func (s *settings) decodeMulti(multi Op, d *decoder) []record {
	var ops []record
	for d.err == nil {
		op, last, _ := Op(d.int32()), d.bool(), d.int32()
		if last || d.err != nil {
			break
		}
		if !inMulti(multi, op) {
			d.err = errShort
			break
		}
		r := s.byFlags(s.decodeRecord(op, d))
		if r.malformed && s.since(9) {
			d.err = errShort
		}
		ops = append(ops, r)
	}
	return ops
}

// byFlags is r in a multi, where a create is what its flags say, whatever its number (Op.create). Since 3.9 the number counts
// unless they say container or TTL.
func (s *settings) byFlags(r record) record {
	switch {
	case !r.op.creates():
	case r.flags == flagContainer:
		r.op = OpCreateContainer
	case r.flags == flagTTL || r.flags == flagTTLSeq:
		r.malformed = r.malformed || r.op != OpCreateTTL // cast to the class that it is not
		r.op = OpCreateTTL
	case s.since(9) && r.op != OpCreateTTL:
		r.malformed = r.malformed || r.flags < 0 || r.flags > flagTTLSeq
	default:
		r.op = OpCreate
	}
	return r
}

func inMulti(multi, op Op) bool {
	if multi == OpMultiRead {
		return op == OpGetData || op == OpGetChildren
	}
	return op.creates() || op == OpDelete || op == OpSetData || op == OpCheck
}
