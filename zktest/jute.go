package zktest

import (
	"encoding/binary"
	"errors"
)

// errShort is a record that ends before its fields do, whose lengths make no sense, or that is null where it must not be.
var errShort = errors.New("zktest: malformed record")

// encoder appends jute: big-endian numbers and length-prefixed strings, no tags. A frame starts with room for its length.
type encoder struct{ buf []byte }

func newFrame() *encoder { return &encoder{buf: make([]byte, 4, 128)} }

// frame fills in the length and returns the bytes to send.
func (e *encoder) frame() []byte {
	binary.BigEndian.PutUint32(e.buf, uint32(len(e.buf)-4))
	return e.buf
}

func (e *encoder) int32(v int32) { e.buf = binary.BigEndian.AppendUint32(e.buf, uint32(v)) }
func (e *encoder) int64(v int64) { e.buf = binary.BigEndian.AppendUint64(e.buf, uint64(v)) }

func (e *encoder) bool(v bool) {
	if v {
		e.buf = append(e.buf, 1)
		return
	}
	e.buf = append(e.buf, 0)
}

func (e *encoder) string(s string) {
	e.int32(int32(len(s)))
	e.buf = append(e.buf, s...)
}

// bytes writes nil as length -1, which is how jute tells a null buffer from an empty one.
func (e *encoder) bytes(b []byte) {
	if b == nil {
		e.int32(-1)
		return
	}
	e.int32(int32(len(b)))
	e.buf = append(e.buf, b...)
}

func (e *encoder) strings(list []string) {
	e.int32(int32(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func (e *encoder) acl(list []ACL) {
	e.int32(int32(len(list)))
	for _, a := range list {
		e.int32(a.Perms)
		e.string(a.Scheme)
		e.string(a.ID)
	}
}

func (e *encoder) stat(s Stat) {
	for _, v := range []int64{s.Czxid, s.Mzxid, s.Ctime, s.Mtime} {
		e.int64(v)
	}
	for _, v := range []int32{s.Version, s.Cversion, s.Aversion} {
		e.int32(v)
	}
	e.int64(s.EphemeralOwner)
	e.int32(s.DataLength)
	e.int32(s.NumChildren)
	e.int64(s.Pzxid)
}

// decoder reads jute. The first malformed field sets err; everything read after that is zero.
type decoder struct {
	buf []byte
	err error
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.buf) {
		d.err = errShort
		return nil
	}
	b := d.buf[:n:n]
	d.buf = d.buf[n:]
	return b
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

func (d *decoder) string() string { return string(d.bytes()) }

// present reads a string that must not be null.
func (d *decoder) present() string {
	b := d.bytes()
	if b == nil {
		d.err = errShort
	}
	return string(b)
}

func (d *decoder) bytes() []byte {
	n := d.int32()
	if n == -1 {
		return nil
	}
	return d.take(int(n))
}

// count reads the length of a vector whose elements take at least size bytes each; -1 is a null vector.
func (d *decoder) count(size int) int {
	n := int(d.int32())
	if n == -1 {
		return 0
	}
	if n < 0 || n*size > len(d.buf) {
		d.err = errShort
		return 0
	}
	return n
}

func (d *decoder) strings() []string {
	list := make([]string, d.count(4))
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) acl() []ACL {
	list := make([]ACL, d.count(12))
	for i := range list {
		list[i] = ACL{Perms: d.int32(), Scheme: d.string(), ID: d.string()}
	}
	return list
}
