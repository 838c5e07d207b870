package zktest_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wire is a client that says exactly what the test tells it to: for what go-zookeeper cannot express.
type wire struct {
	nc       net.Conn
	session  int64
	timeout  time.Duration
	password []byte
	xid      int32
}

// packet builds a request body.
type packet []byte

func (p packet) int32(v int32) packet { return binary.BigEndian.AppendUint32(p, uint32(v)) }
func (p packet) int64(v int64) packet { return binary.BigEndian.AppendUint64(p, uint64(v)) }
func (p packet) byte(b byte) packet   { return append(p, b) }
func (p packet) string(s string) packet {
	return append(p.int32(int32(len(s))), s...)
}

func (p packet) strings(list ...string) packet {
	p = p.int32(int32(len(list)))
	for _, s := range list {
		p = p.string(s)
	}
	return p
}

func (p packet) openACL() packet {
	return p.int32(1).int32(31).string("world").string("anyone")
}

// create is the body of a create request.
func create(path string, flags int32) packet {
	return packet{}.string(path).string("").openACL().int32(flags)
}

// reply is an answer or, with xid -1, an event.
type reply struct {
	xid  int32
	zxid int64
	code int32
	body packet
}

func (r *reply) int32() int32 {
	v := int32(binary.BigEndian.Uint32(r.body))
	r.body = r.body[4:]
	return v
}

func (r *reply) string() string {
	n := r.int32()
	s := string(r.body[:n])
	r.body = r.body[n:]
	return s
}

// dialWire connects and shakes hands, resuming the session of old if there is one.
func dialWire(t testing.TB, dial func(network, addr string, timeout time.Duration) (net.Conn, error), addr string,
	timeout time.Duration, old *wire,
) *wire {
	t.Helper()
	w := sayHello(t, dial, addr, timeout, old)
	w.welcomed(t)
	return w
}

// sayHello connects and sends a handshake.
func sayHello(t testing.TB, dial func(network, addr string, timeout time.Duration) (net.Conn, error), addr string,
	timeout time.Duration, old *wire,
) *wire {
	t.Helper()
	nc, err := dial("tcp", addr, time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	w := &wire{nc: nc}
	id, password := int64(0), string(make([]byte, 16))
	if old != nil {
		id, password = old.session, string(old.password)
	}
	hello := packet{}.int32(0).int64(0).int32(int32(timeout.Milliseconds())).int64(id).string(password).byte(0)
	w.write(t, hello)
	return w
}

// welcomed reads the answer to a handshake.
func (w *wire) welcomed(t testing.TB) {
	t.Helper()
	body, err := w.read()
	require.NoError(t, err)
	r := reply{body: body}
	r.int32()
	w.timeout = time.Duration(r.int32()) * time.Millisecond
	w.session = int64(binary.BigEndian.Uint64(r.body))
	r.body = r.body[8:]
	w.password = []byte(r.string())
}

func (w *wire) write(t testing.TB, body packet) {
	t.Helper()
	_, err := w.nc.Write(append(packet{}.int32(int32(len(body))), body...))
	require.NoError(t, err)
}

func (w *wire) read() (packet, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(w.nc, head); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head))
	_, err := io.ReadFull(w.nc, body)
	return body, err
}

// send writes a request and returns its xid.
func (w *wire) send(t testing.TB, op int32, body packet) int32 {
	t.Helper()
	w.xid++
	xid := w.xid
	if op == opPing {
		xid = -2 // what every answer to a ping has, whatever the ping had
	}
	w.write(t, append(packet{}.int32(xid).int32(op), body...))
	return xid
}

// next reads one reply or event.
func (w *wire) next() (reply, error) {
	b, err := w.read()
	if err != nil {
		return reply{}, err
	}
	return reply{
		xid:  int32(binary.BigEndian.Uint32(b)),
		zxid: int64(binary.BigEndian.Uint64(b[4:])),
		code: int32(binary.BigEndian.Uint32(b[12:])),
		body: b[16:],
	}, nil
}

// call sends a request and returns its reply, which must be the next frame.
func (w *wire) call(t testing.TB, op int32, body packet) reply {
	t.Helper()
	xid := w.send(t, op, body)
	r, err := w.next()
	require.NoError(t, err)
	require.Equal(t, xid, r.xid)
	return r
}

// closed waits for the server to hang up.
func (w *wire) closed(t testing.TB) {
	t.Helper()
	_, err := w.next()
	require.ErrorIs(t, err, io.EOF)
}
