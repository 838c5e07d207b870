package wire

import (
	"math"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
)

// firstXid begins the xids of our requests. go-zookeeper's go from 1 up, and those of events,
// pings and logins are the ones just below zero: no connection carries enough requests to come
// to those.
const firstXid = math.MinInt32

// isOurs reports whether an answer of that xid is one to a request of ours.
func isOurs(xid int32) bool { return xid < math.MinInt32/2 }

// longestRequest is beyond what any server takes that was not told to take more than by default, which
// hangs up.
const longestRequest = 3 << 19

// outbox is what waits to be written to a connection. One goroutine writes ours, and whoever passes
// a frame of go-zookeeper's writes too unless somebody is at it: what has come meanwhile goes out in
// one write.
type outbox struct {
	mu      sync.Mutex // guards the fields below; the link's is locked under it
	passing []*passing // of go-zookeeper's frames
	ours    []*Request // wait for the login to be over, too
	written []*Request // the last ones, whose room is used again
	open    bool       // it is
	over    bool       // nothing is written any more
	writing bool       // somebody is at it

	buf     []byte // for whoever writes
	xid     int32  // of the next request
	sent    fifo   // not answered yet, in the order of their answers
	wake    chan struct{}
	writers sync.WaitGroup
}

// fifo is a queue whose room is used again.
type fifo struct {
	requests []*Request
	first    int
}

func (f *fifo) add(r *Request) { f.requests = append(f.requests, r) }

func (f *fifo) empty() bool { return f.first == len(f.requests) }

// drop takes the first one off.
func (f *fifo) drop() {
	f.requests[f.first] = nil
	if f.first++; f.empty() || f.first > 1<<10 {
		f.requests = slices.Delete(f.requests, 0, f.first)
		f.first = 0
	}
}

// left are those that were not taken off.
func (f *fifo) left() []*Request { return f.requests[f.first:] }

// passing is a frame of go-zookeeper's, which waits for it to be written.
type passing struct {
	frame   []byte
	err     error
	written chan struct{}
}

// Send has requests written, in one write if nothing is in the way, and does not wait for that. If the
// last asks for the same as the last that waits, it asks for both. After the end of the link they fail.
func (l *Link) Send(requests ...*Request) {
	o := &l.out
	o.mu.Lock()
	if o.over {
		o.mu.Unlock()
		for _, r := range requests {
			r.Fail(zk.ErrConnectionClosed)
		}
		return
	}
	last := requests[len(requests)-1]
	if n := len(o.ours); n > 0 && last.shows(o.ours[n-1]) {
		o.ours, last.also = o.ours[:n-1], o.ours[n-1]
	}
	o.ours = append(o.ours, requests...)
	if o.open && !o.writing {
		o.rouse()
	}
	o.mu.Unlock()
}

// rouse wakes the goroutine that writes.
func (o *outbox) rouse() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// keepWriting writes what waits, each time that it is woken, until the link ends.
func (l *Link) keepWriting() {
	o := &l.out
	defer o.writers.Done()
	for {
		select {
		case <-o.wake:
		case <-l.down:
			return
		}
		o.mu.Lock()
		begin := !o.writing
		o.writing = true
		o.mu.Unlock()
		if begin {
			l.drain()
		}
	}
}

// pass writes a frame of go-zookeeper's.
func (l *Link) pass(frame []byte) error {
	o := &l.out
	p := &passing{frame: frame, written: make(chan struct{})}
	o.mu.Lock()
	if o.over {
		o.mu.Unlock()
		return zk.ErrConnectionClosed
	}
	o.passing = append(o.passing, p)
	begin := !o.writing
	o.writing = true
	o.mu.Unlock()
	if begin {
		l.drain()
	}
	<-p.written
	return p.err
}

// openUp takes that the login is over.
func (l *Link) openUp() {
	o := &l.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open || o.over {
		return
	}
	o.open = true
	o.writers.Add(1)
	go l.keepWriting()
	o.rouse()
}

// drain writes what waits, and what comes meanwhile.
func (l *Link) drain() {
	for {
		passing, ours, buf := l.waiting()
		if len(buf) == 0 {
			return
		}
		_, err := l.Conn.Write(buf)
		for _, r := range ours {
			r.wrote()
		}
		clear(ours) // whose room is kept
		for _, p := range passing {
			p.err = err
			close(p.written)
		}
		if err != nil {
			l.end(err)
		}
	}
}

// waiting returns what is to be written now, and notes of our requests that they are. Nothing is
// the end of the writing.
func (l *Link) waiting() (passing []*passing, ours []*Request, buf []byte) {
	o := &l.out
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = o.buf[:0]
	passing, o.passing = o.passing, nil
	for _, p := range passing {
		o.buf = append(o.buf, p.frame...)
	}
	if o.open && !o.over {
		ours, o.ours, o.written = o.ours, o.written[:0], o.ours
	}
	now := l.dialer.Clock.Now()
	for _, r := range ours {
		if r.size > longestRequest {
			r.Fail(zk.ErrShortBuffer)
			continue
		}
		o.buf = r.append(o.buf, o.xid)
		r.link, r.sent = l, now
		o.sent.add(r)
		o.xid++
	}
	o.writing = len(o.buf) > 0
	return passing, ours, o.buf
}

// next returns the request that the next answer is to, nil if there is none.
func (o *outbox) next() *Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent.empty() {
		return nil
	}
	return o.sent.left()[0]
}

// answered takes the next request off. It is false if that has ended with the link.
func (o *outbox) answered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent.empty() {
		return false
	}
	o.sent.drop()
	return true
}

// longest returns how long the longest request is that was not answered.
func (o *outbox) longest() (size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.sent.left() {
		size = max(size, int(r.size))
	}
	return size
}

// close has nothing written any more.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

// unanswered returns the requests that will not be answered. The outbox is closed.
func (o *outbox) unanswered() []*Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := append(o.sent.left(), o.ours...)
	o.sent, o.ours = fifo{}, nil
	return left
}
