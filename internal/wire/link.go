package wire

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
)

// Link is one connection to a server, from its dial to its end. It reads along what passes, and
// tells its session of the handshake and of the end.
type Link struct {
	net.Conn
	dialer *Dialer
	in     *bufio.Reader
	room   []byte // for frames
	unread []byte // of the last frame

	Server string // as it was dialled

	// ID is the ZooKeeper session that the connection carries, and Asked when the connect
	// request was sent, which touches the leader itself. Both are set before the session is
	// told of the handshake.
	ID    int64
	Asked clock.Instant
	limit time.Duration // from then on, for its answer
	logIn []Credential  // instead of the dialer's Logins
	sasl  *exchange     // ahead of all else; nil: none

	begun     clock.Instant // when the connect request was begun
	greeted   atomic.Bool   // there is an answer to it
	loggingIn atomic.Bool   // by SASL, which goes on or has failed
	connected atomic.Bool   // the answer to the connect request was read whole
	serving   atomic.Bool   // a request was answered without error: any login is over
	refused   atomic.Bool   // a login was
	caughtUp  atomic.Bool

	// For Read alone.
	logins int64 // accepted
	due    int64 // logins, until the session is served
	served bool  // its session has been told so

	trust trust // of the server, by the handshake

	silence *time.Timer // runs giveUp
	hangUp  chan error  // has a value when announce, which may go on, has read whether the server hangs up

	out outbox

	mu      sync.Mutex         // guards the fields below; nothing is locked under it
	pending map[int32]inFlight // of go-zookeeper's, by xid
	taken   int                // how long the longest request of ours was that was answered, in bytes
	pings   []clock.Instant    // sent and not answered yet; they all have the same xid

	down    chan struct{}
	endOnce sync.Once
	closing atomic.Bool // or closed
}

// Down returns a channel that is closed when nothing can be answered here any more.
func (l *Link) Down() <-chan struct{} { return l.down }

// Serving reports whether a request was answered without error.
func (l *Link) Serving() bool { return l.serving.Load() }

// CaughtUp reports whether the server has applied a write that was sent here, and so everything
// that the session was told before.
func (l *Link) CaughtUp() bool { return l.caughtUp.Load() }

// inFlight is a request of go-zookeeper's that was sent and not answered yet.
type inFlight struct {
	op     int32
	sent   clock.Instant
	length int // of its frame, in bytes
}

// newLink takes over conn.
func newLink(d *Dialer, conn net.Conn, server string) *Link {
	l := &Link{
		Conn:    conn,
		dialer:  d,
		Server:  server,
		in:      bufio.NewReader(conn),
		out:     outbox{xid: firstXid, wake: make(chan struct{}, 1)},
		pending: make(map[int32]inFlight),
		down:    make(chan struct{}),
	}
	l.silence = time.AfterFunc(math.MaxInt64, l.giveUp)
	d.unclosed.Add(1)
	return l
}

func (l *Link) SetDeadline(t time.Time) error {
	return errors.Join(l.SetReadDeadline(t), l.SetWriteDeadline(t))
}

// SetReadDeadline ends the connection at t. The deadlines of one that a user's dialer has made
// may be none, and may not say so.
func (l *Link) SetReadDeadline(t time.Time) error {
	switch {
	case !l.connected.Load():
	case t.IsZero():
		l.silence.Stop()
	default:
		l.bearSilence(time.Until(t))
	}
	return nil
}

// bearSilence gives the server so long to say something.
func (l *Link) bearSilence(limit time.Duration) {
	l.silence.Reset(limit)
	if latch.IsClosed(l.down) {
		l.silence.Stop()
	}
}

// giveUp ends a connection whose server was silent for too long.
func (l *Link) giveUp() {
	l.end(os.ErrDeadlineExceeded)
	l.Close()
}

func (l *Link) SetWriteDeadline(t time.Time) error {
	if !l.connected.Load() {
		return nil
	}
	return l.Conn.SetWriteDeadline(t)
}

func (l *Link) Read(p []byte) (n int, err error) {
	if l.hangUp != nil {
		err, l.hangUp = <-l.hangUp, nil
	}
	if err == nil && len(l.unread) == 0 {
		err = l.next()
	}
	if err != nil {
		if !l.connected.Load() {
			l.unanswered()
		}
		l.end(err)
		l.Close() // go-zookeeper waits for its writer, whose Write may be blocked by now
		return 0, err
	}
	n = copy(p, l.unread)
	l.unread = l.unread[n:]
	return n, nil
}

// next reads the next frame, and takes it before go-zookeeper has any of it: that believes what a
// frame says of itself.
func (l *Link) next() (err error) {
	var frame []byte
	if l.connected.Load() {
		if frame, err = l.readAnswers(); err == nil {
			l.onAnswer(frame)
			clear(frame[zxidAt:codeAt]) // see told
		}
	} else if frame, err = l.readGreeting(); err == nil {
		l.greet(frame)
	}
	if l.trust == lagging {
		err = errLagging
	}
	if err == nil {
		l.unread = frame
	}
	l.reuse(frame)
	return err
}

// reuse has the next frame read into the room of one that nobody needs any more.
func (l *Link) reuse(frame []byte) {
	if cap(frame) <= frameStep {
		l.room = frame
	}
}

// unanswered takes that the connect request was not answered.
func (l *Link) unanswered() {
	now := l.dialer.Clock.Now()
	if now.Least(l.Asked) >= l.limit {
		l.dialer.slow.Add(1)
		return
	}
	l.dialer.lostData.hungUp(now)
}

// onAnswer takes an answer to a request.
func (l *Link) onAnswer(frame []byte) {
	xid, code := xidOf(frame), codeOf(frame)
	if xid == xidEvent {
		return
	}
	if code == authFailed {
		l.refused.Store(true)
	}
	r, known := l.take(xid)
	switch {
	case r.op == OpSetWatches:
		l.dialer.told.rewatched(code, r.length)
	case r.op == OpCloseSession && code == 0:
		l.dialer.ended.Store(true)
	}
	if known {
		l.answered(r.op, r.sent, code)
	} else if xid > 0 && code == 0 {
		l.loggedIn()
	}
}

// readAnswers reads the answers up to the next one that is go-zookeeper's, and gives ours to the
// requests that they are to.
func (l *Link) readAnswers() ([]byte, error) {
	for {
		frame, err := l.readAnswer()
		if err != nil {
			return nil, err
		}
		if l.dialer.told.takes(frame); !isOurs(xidOf(frame)) {
			return frame, nil
		}
		r := l.out.next()
		switch {
		case r == nil || r.xid != xidOf(frame):
			return nil, l.malformed("the answer to request %d out of turn", xidOf(frame))
		case codeOf(frame) == 0 && !isWhole(r.op, frame[frameHead:]):
			return nil, l.malformed("an answer to operation %d that cannot be read", r.op)
		case !l.out.answered():
			continue // the link has ended
		}
		l.mu.Lock()
		l.taken = max(l.taken, int(r.size))
		l.mu.Unlock()
		l.answered(r.op, r.sent, codeOf(frame))
		kept := r.keeps()
		if r.answer(frame); !kept {
			l.reuse(frame)
		}
	}
}

// answered takes what an answer says of the session. Behind a write's, the server has applied what was
// committed before.
func (l *Link) answered(op int32, sent clock.Instant, code int32) {
	write := slices.Contains(writes, op)
	l.dialer.Lease.Answered(sent, l.dialer.Clock.Now(), write)
	if code != 0 {
		return
	}
	if !l.serving.Swap(true) {
		l.dialer.served()
		l.serve()
	}
	if write {
		l.caughtUp.Store(true)
	}
}

// loggedIn takes the answer to a login that was accepted: go-zookeeper repeats it over the next
// connection.
func (l *Link) loggedIn() {
	l.logins++
	l.dialer.logins.Store(max(l.logins, l.dialer.logins.Load()))
	if l.logins >= l.due {
		l.serve()
	}
}

// serve tells the session, once, that it is served here.
func (l *Link) serve() {
	if !l.served {
		l.served = true
		l.openUp()
		l.dialer.session.Served(l)
	}
}

// Write passes one frame on: go-zookeeper writes each by one call.
func (l *Link) Write(p []byte) (int, error) {
	if !l.connected.Load() {
		return l.ask(p)
	}
	whole := len(p)
	op := opcodeOf(p)
	if op == OpSetAuth { // which a server answers without touching the session
		p = l.renewed(p)
	} else {
		l.follow(xidOf(p), inFlight{op: op, length: len(p)})
		l.openUp() // the logins go ahead of all else
	}
	if op == OpSetWatches {
		p = naming(p, relativeAt, l.dialer.told.watched)
	}
	if l.pass(p) == nil {
		return whole, nil
	}
	if op == OpSetAuth || l.dialer.ctx.Err() != nil {
		// go-zookeeper reports a failed write twice to a channel with room for one, and
		// hangs if nobody reads there: while it sends the credentials anew (zk PR#163), and
		// when it closes. The reader's error alone ends the connection as well.
		l.Close()
		return whole, nil
	}
	// go-zookeeper gives it to whoever made the request. It may be any error, and is not to
	// be taken for the end of a ctx.
	return 0, zk.ErrConnectionClosed
}

// follow notes that a request goes out.
func (l *Link) follow(xid int32, r inFlight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if xid == xidPing {
		l.pings = append(l.pings, l.dialer.Clock.Now())
		return
	}
	r.sent = l.dialer.Clock.Now()
	l.pending[xid] = r
}

// Longest returns how long the longest request of ours is that was answered, and the longest that was
// not, in bytes.
func (l *Link) Longest() (taken, unanswered int) {
	unanswered = l.out.longest()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.taken, unanswered
}

// take returns a request that was noted, which is noted no more.
func (l *Link) take(xid int32) (r inFlight, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if xid != xidPing {
		r, known = l.pending[xid]
		delete(l.pending, xid)
	} else if known = len(l.pings) > 0; known {
		r.sent = l.pings[0]
		l.pings = l.pings[1:]
	}
	return r, known
}

// ErrRefused is why a connection ends over which the session may not log in.
var ErrRefused = fmt.Errorf("the server refuses the session's credentials: %w", zk.ErrAuthFailed)

// CutOff ends the connection to a server that does not answer.
func (l *Link) CutOff() {
	if l.end(net.ErrClosed) {
		l.dialer.Log.Warn("zklock: the server does not answer, cutting the connection", "server", l.RemoteAddr())
	}
	l.Close()
}

// Close waits for nobody: a user's connection may take its time, and go-zookeeper dials again when
// this has returned. See [Dialer.Await].
func (l *Link) Close() error {
	l.end(net.ErrClosed)
	if !l.closing.Swap(true) {
		go func() {
			defer l.dialer.unclosed.Done()
			l.Conn.Close()
			l.out.writers.Wait()
		}()
	}
	return nil
}

// end tells the session that the connection is of no more use, and reports whether nobody had
// before.
func (l *Link) end(cause error) (first bool) {
	l.endOnce.Do(func() {
		first = true
		close(l.down)
		l.silence.Stop()
		if l.refused.Load() { // the server hangs up behind that
			cause = ErrRefused
		}
		switch {
		case cause == net.ErrClosed: // by ourselves
		case !l.greeted.Load():
			cause = Attempt{Server: l.Server, Sent: l.dialer.request(), After: l.dialer.Clock.Now().Least(l.begun), Err: cause}
			l.dialer.failed(l.Server, cause)
		case l.loggingIn.Load():
			cause = SASLError{l.sasl.mechanism, l.Server, cause}
			l.dialer.failed(l.Server, cause)
		}
		l.out.close()
		l.dialer.session.Disconnected(l, cause)
		for _, r := range l.out.unanswered() { // now that nobody is given this connection any more
			r.fail(zk.ErrConnectionClosed)
		}
	})
	return first
}
