package wire

import (
	"encoding/binary"

	"github.com/go-zookeeper/zk"
)

// append appends the request's frame.
func (r *Request) append(b []byte, xid int32) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = appendInt(b, xid)
	b = appendInt(b, r.opcode())
	if r.multi {
		for i := range r.ops {
			b = appendMultiHeader(b, r.ops[i].Code, false)
			b = r.ops[i].append(b)
		}
		b = appendMultiHeader(b, -1, true)
	} else {
		b = r.ops[0].append(b)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// Size returns how long the frame is, in bytes, without its length.
func (r *Request) Size() int {
	const header, multiHeader = 8, 9
	size := header
	if r.multi {
		size += (len(r.ops) + 1) * multiHeader
	}
	for i := range r.ops {
		size += r.ops[i].size()
	}
	return size
}

func (op *Op) size() int {
	const length, number = 4, 4
	size := length + len(op.Path)
	switch op.Code {
	case OpSetWatches:
		size = len(op.Data)
	case OpCreate:
		size += length + len(op.Data) + length + number
		for _, a := range op.ACL {
			size += number + length + len(a.Scheme) + length + len(a.ID)
		}
	case OpDelete, OpCheck:
		size += number
	case OpSetData:
		size += length + len(op.Data) + number
	case OpExists, OpGetData, OpGetChildren2:
		size++
	}
	return size
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
