package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
)

// nobody is a session that takes whatever it is told.
type nobody struct{}

func (nobody) ID() int64                           { return 0 }
func (nobody) Left() (timeout, left time.Duration) { return time.Second, 0 }
func (nobody) Asks(clock.Instant)                  {}
func (nobody) Connected(*Link, time.Duration)      {}
func (nobody) Disconnected(*Link, error)           {}
func (nobody) Served(*Link)                        {}
func (nobody) Failed(error)                        {}
func (nobody) Spawn(f func()) bool                 { go f(); return true }
func (nobody) Debug(message string, args ...any)   {}
func (nobody) Warn(message string, args ...any)    {}

// audience is a session that notes what it is told of its connections.
type audience struct {
	pressed

	mu    sync.Mutex // guards the fields below
	told  []string
	asked clock.Instant
	cause error // of the last end
}

func (a *audience) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, fmt.Sprintf(format, args...))
}

// all returns what was told since the last call.
func (a *audience) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.told
	a.told = nil
	return told
}

func (a *audience) Asks(at clock.Instant) { a.asked = at; a.note("asks") }
func (a *audience) Connected(l *Link, timeout time.Duration) {
	a.note("connected to %d for %v", l.ID, timeout)
}
func (a *audience) Disconnected(_ *Link, cause error) { a.cause = cause; a.note("ended") }
func (a *audience) Served(*Link)                      { a.note("served") }
func (a *audience) Warn(string, ...any)               { a.note("warns") }

// frail is a user's connection that fails as it is told.
type frail struct {
	net.Conn
	write    error      // of each write
	read     chan error // of one read each; those between wait
	deadline time.Time  // for writing
	refusal  error      // of a deadline
}

func (c *frail) Write(p []byte) (int, error) {
	if c.write != nil {
		return 0, c.write
	}
	return c.Conn.Write(p)
}

func (c *frail) Read(p []byte) (int, error) {
	if c.read != nil {
		return 0, <-c.read
	}
	return c.Conn.Read(p)
}

func (c *frail) SetWriteDeadline(t time.Time) error { c.deadline = t; return c.refusal }

// line is a connection to a server that reads all that is written.
type line struct {
	*Link
	conn   *frail
	server net.Conn
	got    chan []byte        // what the server has read, write by write
	heard  chan time.Duration // since when the reads have ended that brought something
	over   chan error         // what has ended the reading
}

// plug is a dialer of connections, in a bubble.
type plug struct {
	*Dialer
	t    *testing.T
	deaf bool // the server reads nothing
	last *line
}

// plugged returns a dialer for a.
func plugged(t *testing.T, a *audience) *plug {
	t.Helper()
	p := &plug{t: t}
	p.Dialer = NewDialer(t.Context(), a, Options{Hosts: NewHosts(), Log: a, Clock: new(clock.Clock), Lease: new(lease.Lease), Dial: p.dial})
	p.Lease.Begin(a.timeout)
	require.NoError(t, p.Hosts.Init([]string{"a", "b", "c"}))
	return p
}

func (p *plug) dial(string, string, time.Duration) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.t.Cleanup(func() { ours.Close(); theirs.Close() })
	p.last = &line{
		conn: &frail{Conn: ours}, server: theirs,
		got: make(chan []byte, 100), heard: make(chan time.Duration, 100), over: make(chan error, 1),
	}
	return p.last.conn, nil
}

// dialed returns a connection that has carried nothing yet.
func (p *plug) dialed() *line {
	p.t.Helper()
	conn, err := p.Connect("tcp", "a:2181", time.Second)
	require.NoError(p.t, err)
	l := p.last
	l.Link = conn.(*Link)
	p.t.Cleanup(func() { l.Link.Close() })
	if p.deaf {
		return l
	}
	go func() {
		for {
			read := make([]byte, 4096)
			n, err := l.server.Read(read)
			if err != nil {
				return
			}
			l.got <- read[:n]
		}
	}()
	return l
}

// listen reads as the client does.
func (l *line) listen() {
	go func() {
		began, read := time.Now(), make([]byte, 4096)
		for {
			if _, err := l.Read(read); err != nil {
				l.over <- err
				return
			}
			l.heard <- time.Since(began)
		}
	}()
}

// password is a session's.
var password = append(number(16), "0123456789abcdef"...)

// ask is a connect request, hello its answer.
var ask = framed(number(0), long(0), number(8000), long(1), password)

func hello(session int64) []byte { return framed(number(0), number(8000), long(session), password) }

// greeted returns a connection that carries that session, after a round trip of that length.
func (p *plug) greeted(session int64, takes time.Duration) *line {
	p.t.Helper()
	l := p.dialed()
	_, err := l.Write(ask)
	require.NoError(p.t, err)
	l.listen()
	time.Sleep(takes)
	l.says(hello(session))
	for len(l.got) > 0 {
		<-l.got
	}
	<-l.heard
	return l
}

// says has the server say something.
func (l *line) says(frame []byte) {
	_, _ = l.server.Write(frame)
	synctest.Wait()
}

// sends passes a request on that asks for no watch.
func (l *line) sends(xid, op int32) {
	_, _ = l.Write(framed(number(xid), number(op), at("/some/node", 0)))
	synctest.Wait()
}

// answer is a reply to a request, or to a transaction, that has nothing to say.
func answer(xid, code int32) []byte {
	empty := make([]byte, 4+statSize)
	empty[4] = 1 // the end of a transaction's results
	return framed(number(xid), long(1), number(code), empty)
}

// at is a request's path, and a last byte that may ask for a watch.
func at(path string, watch byte) []byte {
	return append(append(number(int32(len(path))), path...), watch)
}

// isUp reports whether nothing has ended the connection, at either end.
func (l *line) isUp() bool {
	synctest.Wait()
	_, err := l.server.Write(nil)
	select {
	case <-l.Down():
		return false
	default:
		return err == nil
	}
}

const (
	opPing = 11
	noNode = -101 // the error code of a request about a node that does not exist
)

// number is a field of a frame.
func number(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// framed is the fields as one frame.
func framed(fields ...[]byte) []byte {
	var body []byte
	for _, f := range fields {
		body = append(body, f...)
	}
	return append(number(int32(len(body))), body...)
}

func long(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// reads requires that a frame comes, byte by byte if it has to.
func reads(t *testing.T, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
