package zklock

import (
	"slices"
	"sync"
)

// A tap follows one request through the wire: go-zookeeper tells neither when
// its frame went out, nor on which connection, nor the zxid of its reply.
type tap struct {
	key  tapKey
	sent func() // called when the frame has been written, or writing it failed

	mu      sync.Mutex
	link    *link // the connection that it was written to, nil while unsent
	replied bool
	zxid    int64
}

// tapKey recognises a request: see operation.
type tapKey struct {
	op   int32
	path string
}

// fate returns the connection that carried the request (nil: none), whether a
// reply to it was read there, and that reply's zxid.
func (t *tap) fate() (l *link, replied bool, zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.link, t.replied, t.zxid
}

func (t *tap) reply(zxid int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.replied, t.zxid = true, zxid
}

// taps are the requests that wait to be seen on their way out.
type taps struct {
	mu      sync.Mutex
	waiting map[tapKey][]*tap // in the order in which they were added
}

// add makes the next frame of that key report to the tap, and call sent, which
// must not block, as soon as it has gone out.
func (ts *taps) add(key tapKey, sent func()) *tap {
	t := &tap{key: key, sent: sent}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.waiting == nil {
		ts.waiting = make(map[tapKey][]*tap)
	}
	ts.waiting[key] = append(ts.waiting[key], t)
	return t
}

// drop forgets a tap whose request has ended.
func (ts *taps) drop(t *tap) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.remove(t.key, slices.Index(ts.waiting[t.key], t))
}

// take returns the tap that waits for this request frame, if any.
func (ts *taps) take(frame []byte) *tap {
	op, path := operation(frame)
	ts.mu.Lock()
	defer ts.mu.Unlock()
	waiting := ts.waiting[tapKey{op, string(path)}]
	if len(waiting) == 0 {
		return nil
	}
	first := waiting[0]
	ts.remove(first.key, 0)
	return first
}

// remove takes the ith tap of its key out, none if i is negative.
func (ts *taps) remove(key tapKey, i int) {
	if i < 0 {
		return
	}
	if ts.waiting[key] = slices.Delete(ts.waiting[key], i, i+1); len(ts.waiting[key]) == 0 {
		delete(ts.waiting, key)
	}
}
