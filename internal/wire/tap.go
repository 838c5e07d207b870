package wire

import (
	"slices"
	"sync"
)

// A Tap follows one request through the wire: go-zookeeper tells neither when its frame went
// out, nor on which connection, nor the zxid of its reply.
type Tap struct {
	request Request
	sent    func() // called when the frame has been written, or writing it failed

	mu      sync.Mutex // guards the fields below; nothing is locked under it
	link    *Link      // the connection that it was written to, nil while unsent
	replied bool
	zxid    int64
}

// Fate returns the connection that carried the request (nil: none), whether a reply to it was
// read there, and that reply's zxid.
func (t *Tap) Fate() (l *Link, replied bool, zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.link, t.replied, t.zxid
}

// written notes the connection that carries the request.
func (t *Tap) written(l *Link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.link = l
}

func (t *Tap) reply(zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replied, t.zxid = true, zxid
}

// Taps are the requests that wait to be seen on their way out.
type Taps struct {
	mu      sync.Mutex         // guards waiting; nothing is locked under it
	waiting map[Request][]*Tap // in the order in which they were added
}

// Add makes the next frame of that request report to the tap, and call sent, which must not
// block, as soon as it has gone out.
func (ts *Taps) Add(r Request, sent func()) *Tap {
	t := &Tap{request: r, sent: sent}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.waiting == nil {
		ts.waiting = make(map[Request][]*Tap)
	}
	ts.waiting[r] = append(ts.waiting[r], t)
	return t
}

// Drop forgets a tap whose request has ended.
func (ts *Taps) Drop(t *Tap) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.remove(t.request, slices.Index(ts.waiting[t.request], t))
}

// take returns the tap that waits for this request, if any.
func (ts *Taps) take(op int32, path []byte) *Tap {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	waiting := ts.waiting[Request{op, string(path)}]
	if len(waiting) == 0 {
		return nil
	}
	first := waiting[0]
	ts.remove(first.request, 0)
	return first
}

// remove takes the ith tap of its request out, none if i is negative.
func (ts *Taps) remove(r Request, i int) {
	if i < 0 {
		return
	}
	if ts.waiting[r] = slices.Delete(ts.waiting[r], i, i+1); len(ts.waiting[r]) == 0 {
		delete(ts.waiting, r)
	}
}
