package zklock

import (
	"bufio"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
)

// link is one connection to a server, from its dial to its end. It reads along
// what passes, and tells its session of the handshake and of the end.
type link struct {
	net.Conn
	session *Session
	in      *bufio.Reader
	frames  frameReader

	// id is the ZooKeeper session that the connection carries; set before the
	// handshake is reported.
	id      int64
	greeted atomic.Bool // the answer to the connect request was read whole
	serving atomic.Bool // a request was answered without error: any login is over
	// caughtUp says that the server has applied a write that was sent here, and so
	// everything that the session was told before: see catchUp.
	caughtUp atomic.Bool
	catching chan struct{} // has a value while that write is made: one does for all

	connected clock.Instant // when the connect request was sent, which touches the leader itself
	limit     time.Duration // from then on, for its answer

	silence *time.Timer // runs giveUp
	hangUp  chan error  // has a value when announce, which may go on, has read whether the server hangs up

	relays lease.Relays // guarded by the session's mu

	mu      sync.Mutex
	pending map[int32]inFlight // by xid
	pings   []clock.Instant    // sent and not answered yet; they all have the same xid
	touches lease.Touches
	speed   lease.Speed

	down    chan struct{} // closed when nothing can be answered here any more
	endOnce sync.Once
}

// inFlight is a request that was sent and not answered yet.
type inFlight struct {
	op   int32
	sent clock.Instant
	tap  *tap // nil: nobody follows it
}

// newLink takes over conn.
func newLink(s *Session, conn net.Conn) *link {
	l := &link{
		Conn:    conn,
		session: s,
		in:      bufio.NewReader(conn),
		pending: make(map[int32]inFlight),
		down:    make(chan struct{}),

		catching: make(chan struct{}, 1),
	}
	l.silence = time.AfterFunc(math.MaxInt64, l.giveUp)
	return l
}

func (l *link) SetDeadline(t time.Time) error {
	return errors.Join(l.SetReadDeadline(t), l.SetWriteDeadline(t))
}

// SetReadDeadline ends the connection at t. The deadlines of one that a user's dialer
// has made may be none, and may not say so.
func (l *link) SetReadDeadline(t time.Time) error {
	switch {
	case !l.greeted.Load():
	case t.IsZero():
		l.silence.Stop()
	default:
		l.bearSilence(time.Until(t))
	}
	return nil
}

// bearSilence gives the server so long to say something.
func (l *link) bearSilence(limit time.Duration) {
	l.silence.Reset(limit)
	if isClosed(l.down) {
		l.silence.Stop()
	}
}

// giveUp ends a connection whose server was silent for too long.
func (l *link) giveUp() {
	l.end(os.ErrDeadlineExceeded)
	l.Close()
}

func (l *link) SetWriteDeadline(t time.Time) error {
	if !l.greeted.Load() {
		return nil
	}
	return l.Conn.SetWriteDeadline(t)
}

func (l *link) Read(p []byte) (n int, err error) {
	if l.hangUp != nil {
		err, l.hangUp = <-l.hangUp, nil
	}
	if err == nil {
		n, err = l.in.Read(p)
	}
	l.frames.feed(p[:n], l.onFrame)
	if err != nil {
		if !l.greeted.Load() && l.session.clock.Now().Least(l.connected) >= l.limit {
			l.session.dialer.timedOut()
		}
		l.end(err)
	}
	return n, err
}

// onFrame sees each frame before go-zookeeper has all of it.
func (l *link) onFrame(head []byte) {
	if !l.greeted.Load() {
		l.greet(head)
		return
	}
	xid, code := int32(binary.BigEndian.Uint32(head[4:])), int32(binary.BigEndian.Uint32(head[16:]))
	if xid == xidEvent {
		return
	}
	l.session.rewatch.answered(xid, code)
	r, known := l.answered(xid)
	if known && code == 0 && !l.serving.Swap(true) {
		l.session.dialer.served()
	}
	if known && code == 0 && slices.Contains(writes, r.op) {
		l.caughtUp.Store(true)
	}
	if r.tap != nil {
		r.tap.reply(int64(binary.BigEndian.Uint64(head[8:])))
	}
}

// greet takes the answer to the connect request.
func (l *link) greet(head []byte) {
	l.id = int64(binary.BigEndian.Uint64(head[12:]))
	timeout := time.Duration(binary.BigEndian.Uint32(head[8:])) * time.Millisecond
	l.touches = lease.NewTouches(l.connected, timeout)
	l.relays = lease.NewRelays(l.connected)
	if l.id != 0 {
		l.session.rewatch.connected() // before anybody can have the connection: see client.Watches
	}
	l.session.greeted(l, timeout)
	if l.id != 0 { // go-zookeeper dials anew if the session has expired
		l.silence.Stop()
		l.greeted.Store(true)
	}
}

// Write passes one frame on: go-zookeeper writes each by one call.
func (l *link) Write(p []byte) (int, error) {
	if !l.greeted.Load() {
		return l.ask(p)
	}
	if l.session.watching(p) {
		p = slices.Clone(p)
		p[len(p)-1] = 1 // a read's last field says whether to watch
	}
	t := l.session.taps.take(p)
	op := int32(binary.BigEndian.Uint32(p[8:]))
	if op != opSetAuth { // which a server answers without touching the session
		l.follow(int32(binary.BigEndian.Uint32(p[4:])), op, t)
	}
	if op == opSetWatches {
		l.session.rewatch.sent(p)
	}
	n, err := l.Conn.Write(p)
	if t != nil {
		t.sent()
	}
	if err != nil {
		l.end(err)
		if op == opSetAuth || l.session.ctx.Err() != nil {
			// go-zookeeper reports a failed write twice to a channel with room for
			// one, and hangs if nobody reads there: while it sends the credentials
			// anew (zk PR#163), and when it closes. The reader's error alone ends
			// the connection as well.
			l.Close()
			return len(p), nil
		}
		// go-zookeeper gives it to whoever made the request. It may be any error, and is
		// not to be taken for the end of a ctx.
		err = zk.ErrConnectionClosed
	}
	return n, err
}

// ask sends the connect request. If there are holds to be saved it sends its length
// ahead, which is all that a server reads that serves nobody, as in an election: it
// hangs up then, and cannot carry out what it has not got.
func (l *link) ask(p []byte) (n int, err error) {
	l.session.rewatch.asked(p)
	if timeout, left := l.session.left(); left > 0 {
		const length = 4
		if n, err = l.announce(p[:length], min(time.Duration(announcePart*float64(timeout)), left/16)); err != nil {
			l.end(err)
			return n, err
		}
	}
	l.connected = l.session.clock.Now()
	l.limit = l.session.beginHandshake(l)
	// Unanswered, go-zookeeper's handshake blocks for minutes: between header
	// and body it clears its own deadline. Ours stands until the handshake is over.
	l.bearSilence(l.limit)
	more, err := l.Conn.Write(p[n:])
	return n + more, err
}

// announce writes the beginning of a frame, and returns an error if the server hangs
// up within that time. That is not left to a deadline: a user's connection may have
// none. Whoever reads next waits for the read that was begun.
func (l *link) announce(beginning []byte, within time.Duration) (int, error) {
	l.bearSilence(l.session.dialer.patience())
	n, err := l.Conn.Write(beginning)
	if err != nil {
		return n, err
	}
	if !l.session.begin() {
		return n, net.ErrClosed
	}
	hangUp := make(chan error, 1)
	go func() {
		defer l.session.work.Done()
		_, err := l.in.Peek(1)
		hangUp <- err
	}()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case err = <-hangUp:
	case <-late.C:
		l.hangUp = hangUp
	}
	return n, err
}

// follow notes that a request goes out.
func (l *link) follow(xid, op int32, t *tap) {
	if t != nil {
		t.mu.Lock()
		t.link = l
		t.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if xid == xidPing {
		l.pings = append(l.pings, l.session.clock.Now())
		return
	}
	l.pending[xid] = inFlight{op, l.session.clock.Now(), t}
}

// awaits reports whether a request of that operation has not been answered.
func (l *link) awaits(op int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.pending {
		if r.op == op {
			return true
		}
	}
	return false
}

// answered notes that a request was answered, if it is one that was noted.
func (l *link) answered(xid int32) (r inFlight, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if xid != xidPing {
		r, known = l.pending[xid]
		delete(l.pending, xid)
	} else if known = len(l.pings) > 0; known {
		r.sent = l.pings[0]
		l.pings = l.pings[1:]
	}
	if !known {
		return r, false
	}
	now := l.session.clock.Now()
	l.touches.Add(r.sent, now)
	l.speed.Answered(now.Least(r.sent))
	return r, true
}

// roundTrip returns how long the fastest answer has taken.
func (l *link) roundTrip() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.RoundTrip()
}

// timeProof notes what a proof has taken, and reports whether it was quick.
func (l *link) timeProof(took, timeout time.Duration, followed bool) (quick bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.speed.Proved(took, timeout, followed)
}

// beginProof returns a proof that begins now.
func (l *link) beginProof(timeout time.Duration) lease.Proof {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.session.clock.Now()
	return lease.Proof{Begun: now, Touched: l.touches.Newest(lease.RelayedBy(now, timeout))}
}

func (l *link) Close() error {
	l.end(net.ErrClosed)
	return l.Conn.Close()
}

// end reports that the connection is of no more use, and tells whether nobody had
// before.
func (l *link) end(cause error) (first bool) {
	l.endOnce.Do(func() {
		first = true
		close(l.down)
		l.silence.Stop()
		l.session.disconnected(l, cause)
	})
	return first
}
