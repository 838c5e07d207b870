package wire

import (
	"encoding/binary"
	"sync"

	"github.com/go-zookeeper/zk"
)

// spare are frames of requests that were written, whose room is used again.
var spare = sync.Pool{New: func() any { return new([]byte) }}

// encode makes the request's frame, but for its xid.
func (r *Request) encode(op int32, ops ...Op) {
	r.op, r.ops, r.frame = op, int32(len(ops)), spare.Get().(*[]byte)
	b := appendInt(append((*r.frame)[:0], make([]byte, opcodeAt)...), op)
	several := op == OpMulti || op == OpMultiRead
	for i := range ops {
		if several {
			b = appendMultiHeader(b, ops[i].Code, false)
		}
		b = ops[i].append(b)
	}
	if several {
		b = appendMultiHeader(b, -1, true)
	}
	*r.frame, r.size = sized(b), int32(len(b)-4)
}

// append appends the request's frame, once.
func (r *Request) append(b []byte, xid int32) []byte {
	r.xid = xid
	binary.BigEndian.PutUint32((*r.frame)[xidAt:], uint32(xid))
	b = append(b, *r.frame...)
	spare.Put(r.frame)
	r.frame = nil
	return b
}

func appendMultiHeader(b []byte, code int32, done bool) []byte {
	return appendInt(appendBool(appendInt(b, code), done), -1)
}

// append appends the operation's own fields, in ZooKeeper's order (zookeeper.jute).
func (op *Op) append(b []byte) []byte {
	if op.Code == OpSetWatches {
		return append(b, op.Data...)
	}
	b = appendString(b, op.Path)
	switch op.Code {
	case OpCreate:
		b = appendBuffer(b, op.Data)
		b = appendACL(b, op.ACL)
		b = appendInt(b, op.Flags)
	case OpDelete, OpCheck:
		b = appendInt(b, op.Version)
	case OpSetData:
		b = appendBuffer(b, op.Data)
		b = appendInt(b, op.Version)
	case OpExists, OpGetData, OpGetChildren2:
		b = appendBool(b, op.Watch)
	case OpAddWatch, OpRemoveWatches:
		b = appendInt(b, op.Flags)
	}
	return b
}

// SetWatches is the operation that sets watches on the data of nodes again, which have told of all
// changes up to that transaction.
func SetWatches(told int64, nodes []string) Op {
	b := binary.BigEndian.AppendUint64(nil, uint64(told))
	b = appendInt(b, int32(len(nodes)))
	for _, node := range nodes {
		b = appendString(b, node)
	}
	return Op{Code: OpSetWatches, Data: appendInt(appendInt(b, 0), 0)} // none on existence, nor on children
}

// AddSubtree and RemoveSubtree are the operations that set and remove a watch on all nodes at and below a
// path. A server has it from ZooKeeper 3.6 on.
func AddSubtree(path string) Op { return Op{Code: OpAddWatch, Path: path, Flags: 1} } // recursive

func RemoveSubtree(path string) Op { return Op{Code: OpRemoveWatches, Path: path, Flags: 3} } // of any kind

func appendInt(b []byte, n int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

func appendBool(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendString(b []byte, s string) []byte { return append(appendInt(b, int32(len(s))), s...) }

func appendBuffer(b, data []byte) []byte {
	if data == nil {
		return appendInt(b, -1)
	}
	return append(appendInt(b, int32(len(data))), data...)
}

func appendACL(b []byte, acl []zk.ACL) []byte {
	b = appendInt(b, int32(len(acl)))
	for _, a := range acl {
		b = appendInt(b, a.Perms)
		b = appendString(b, a.Scheme)
		b = appendString(b, a.ID)
	}
	return b
}
