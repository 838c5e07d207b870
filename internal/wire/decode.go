package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// ErrMalformed says that an answer is not what ZooKeeper's protocol has there.
var ErrMalformed = errors.New("zklock: the server's answer is malformed")

// reader takes an answer apart. What it returns after the first mistake is zero.
type reader struct {
	left []byte
	err  error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.left) {
		r.left, r.err = nil, ErrMalformed
		return nil
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) int() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) long() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// buffer returns bytes that say how many they are; nil if they say that there are none.
func (r *reader) buffer() []byte {
	n := r.int()
	if n < 0 {
		return nil
	}
	return r.take(int(n))
}

// text is a buffer that cannot be missing.
func (r *reader) text() []byte { return r.take(int(r.int())) }

func (r *reader) string() string { return string(r.text()) }

// count returns how many fields follow, each of which has four bytes at least.
func (r *reader) count() int {
	n := int(r.int())
	if n < 0 || n > len(r.left)/4 {
		r.left, r.err = nil, ErrMalformed
		return 0
	}
	return n
}

// statSize is how long a node's Stat is.
const statSize = 6*8 + 5*4

func (r *reader) stat() *zk.Stat {
	return &zk.Stat{
		Czxid: r.long(), Mzxid: r.long(), Ctime: r.long(), Mtime: r.long(),
		Version: r.int(), Cversion: r.int(), Aversion: r.int(),
		EphemeralOwner: r.long(), DataLength: r.int(), NumChildren: r.int(), Pzxid: r.long(),
	}
}

// Path returns the path that the answer to a create or a sync names.
func (r *Request) Path() (string, error) {
	if err := r.Err(); err != nil {
		return "", err
	}
	in := reader{left: r.body}
	path := in.string()
	return path, in.err
}

// Stat returns what an exists, or a write of data, has told of the node.
func (r *Request) Stat() (*zk.Stat, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	in := reader{left: r.body}
	stat := in.stat()
	return stat, in.err
}

// Data returns what a node says.
func (r *Request) Data() ([]byte, *zk.Stat, error) {
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	in := reader{left: r.body}
	data, stat := bytes.Clone(in.buffer()), in.stat()
	return data, stat, in.err
}

// ACL returns a node's access list.
func (r *Request) ACL() (acl []zk.ACL, err error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	in := reader{left: r.body}
	for range in.count() {
		acl = append(acl, zk.ACL{Perms: in.int(), Scheme: in.string(), ID: in.string()})
	}
	in.stat()
	return acl, in.err
}

// Children returns the names of a node's children, all of which are parts of one string, and the
// node's stat.
func (r *Request) Children() (names []string, stat *zk.Stat, err error) {
	if err := r.Err(); err != nil {
		return nil, nil, err
	}
	in := reader{left: r.body}
	count := in.count()
	all := string(in.left)
	names = make([]string, 0, count)
	for range count {
		name := in.text()
		end := len(all) - len(in.left)
		names = append(names, all[end-len(name):end])
	}
	stat = in.stat()
	return names, stat, in.err
}

// Result is what became of one operation of several.
type Result struct {
	Path string   // that a create has made
	Stat *zk.Stat // of a container that was made, or of what was read
	Err  error
}

// Results returns what became of each operation of a request for several, and the first error, or why
// there is none of that.
func (r *Request) Results() ([]Result, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	in := reader{left: r.body}
	results := make([]Result, 0, r.ops)
	var first error
	for told, more := in.result(); more; told, more = in.result() {
		result := Result{Path: string(told.path), Err: errorOf(told.code)}
		if told.stat != nil {
			result.Stat = (&reader{left: told.stat}).stat()
		}
		if first == nil {
			first = result.Err
		}
		results = append(results, result)
	}
	if in.err != nil || len(results) != int(r.ops) {
		return nil, ErrMalformed
	}
	return results, first
}

// opError is an operation of several that has failed.
const opError int32 = -1

// part is what an answer says of one operation of several.
type part struct {
	code       int32
	path, stat []byte // nil if it has none
}

// result returns the next of them, and whether there is one.
func (r *reader) result() (p part, more bool) {
	kind, done := r.int(), r.bool()
	p.code = r.int()
	if done {
		return part{}, false
	}
	switch kind {
	case OpCreate:
		p.path = r.text()
	case OpCreate2:
		p.path, p.stat = r.text(), r.take(statSize)
	case OpDelete, OpCheck:
	case OpSetData:
		r.take(statSize)
	case OpGetData:
		r.buffer()
		p.stat = r.take(statSize)
	case opError:
		p.code = r.int()
	default:
		r.err = ErrMalformed
	}
	return p, r.err == nil
}

// named are the errors that go-zookeeper has a name for, by code.
var named = map[int32]error{
	-8: zk.ErrBadArguments, -100: zk.ErrAPIError, -101: zk.ErrNoNode, -102: zk.ErrNoAuth,
	-103: zk.ErrBadVersion, -108: zk.ErrNoChildrenForEphemerals, -110: zk.ErrNodeExists,
	-111: zk.ErrNotEmpty, -112: zk.ErrSessionExpired, -114: zk.ErrInvalidACL,
	-115: zk.ErrAuthFailed, -116: zk.ErrClosing, -117: zk.ErrNothing, -118: zk.ErrSessionMoved,
	-123: zk.ErrReconfigDisabled,
}

// Code is a server's error that go-zookeeper has no name for.
type Code int32

func (c Code) Error() string { return fmt.Sprintf("unknown error: %d", int32(c)) }

// ErrUnimplemented says that the server's version knows no such request.
const ErrUnimplemented = Code(-6)

// errorOf returns the error that a code is.
func errorOf(code int32) error {
	if code == 0 {
		return nil
	}
	if err := named[code]; err != nil {
		return err
	}
	return Code(code)
}
