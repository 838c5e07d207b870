package ui

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zklock/zklock"
)

// hub knows the locks while somebody looks. All pages that show them share one watch.
type hub struct {
	ctx     context.Context
	session *zklock.Session
	prefix  string
	also    func(ctx context.Context) // runs while somebody looks
	ended   sync.WaitGroup

	mu      sync.Mutex // guards the fields below; nothing is locked under it
	viewers int
	stop    context.CancelFunc // of the watch; nil while nobody looks
	leaving *time.Timer        // until the watch ends, when the last viewer has gone
	changed chan struct{}      // closed and replaced at each change of the following
	locks   map[string]*lock
	hidden  []string // paths that may not be read
	began   bool     // the first list is there
	failure error    // why the watch has ended
	looks   []span   // when somebody looked, of the last hour; the last one may go on
	broken  map[string]bool
	forgot  time.Time // when what is old was dropped last
	cut     bool      // there is no connection
	back    time.Time // when it has come back last
}

// span is a time, of which the end may be yet to come.
type span struct{ from, to time.Time }

const (
	// remembered is how far back the page tells of a lock.
	remembered = time.Hour
	// lingers is how long the watch goes on when nobody looks: to go from one view to another asks nothing.
	lingers = 15 * time.Second
	// catchUp is how long after the connection has come back what is told is of before that.
	catchUp = 5 * time.Second
)

func newHub(ctx context.Context, session *zklock.Session, prefix string) *hub {
	return &hub{
		ctx: ctx, session: session, prefix: prefix,
		changed: make(chan struct{}), locks: make(map[string]*lock), broken: make(map[string]bool),
	}
}

// join begins to look, if nobody does yet. leave is to be called once.
func (h *hub) join() (leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers++
	if h.leaving != nil {
		h.leaving.Stop()
		h.leaving = nil
	}
	if h.stop == nil && h.ctx.Err() == nil {
		var ctx context.Context
		ctx, h.stop = context.WithCancel(h.ctx)
		h.began, h.failure = false, nil
		h.ended.Go(func() { h.look(ctx) })
		h.ended.Go(func() { h.also(ctx) })
	}
	return sync.OnceFunc(h.leave)
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers--; h.viewers == 0 {
		h.leaving = time.AfterFunc(lingers, h.rest)
	}
}

// rest ends the watch unless somebody has come meanwhile.
func (h *hub) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.stop != nil {
		h.stop()
		h.end()
	}
}

// end notes that nobody looks any more. h.mu is held.
func (h *hub) end() {
	h.stop = nil
	h.blink()
}

// blink notes that nothing is seen from now on. h.mu is held.
func (h *hub) blink() {
	if n := len(h.looks); n > 0 && h.looks[n-1].to.IsZero() {
		h.looks[n-1].to = time.Now()
	}
}

// connected takes that the session's connection has come or gone.
func (h *hub) connected(stands bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if stands && h.cut { // or it is the first one
		if h.back = time.Now(); h.stop != nil && h.began {
			h.looks = append(h.looks, span{from: h.back})
		}
	}
	if h.cut = !stands; h.cut {
		h.blink()
	}
	h.broadcast()
}

// close waits until nothing runs any more. The hub's ctx has ended.
func (h *hub) close() {
	h.mu.Lock()
	if h.leaving != nil {
		h.leaving.Stop()
	}
	h.mu.Unlock()
	h.ended.Wait()
}

// look follows the locks until ctx ends.
func (h *hub) look(ctx context.Context) {
	for changed, err := range zklock.Watch(ctx, h.session, h.prefix) {
		h.take(ctx, changed, err)
	}
}

func (h *hub) take(ctx context.Context, changed []zklock.KeyedLock, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return // nobody looks any more, or somebody else's watch
	}
	var hidden *zklock.HiddenError
	if err != nil && !errors.As(err, &hidden) {
		h.failure = err
		h.stop()
		h.end()
		h.broadcast()
		return
	}
	h.hidden = nil
	if hidden != nil {
		h.hidden = hidden.Paths
	}
	now := time.Now()
	if !h.began {
		h.begin(now, changed)
	}
	gone := h.wentTogether(changed)
	for _, l := range changed {
		h.at(l.Path).update(l, now, func(c zklock.Contender) string { return h.why(c, gone) })
	}
	if now.Sub(h.forgot) > time.Minute {
		h.forget(now)
		h.forgot = now
	}
	h.broadcast()
}

// begin takes that somebody looks again: locks of which the first list tells nothing are free.
func (h *hub) begin(now time.Time, found []zklock.KeyedLock) {
	h.began = true
	h.looks = append(h.looks, span{from: now})
	inUse := make(map[string]bool, len(found))
	for _, l := range found {
		inUse[l.Path] = true
	}
	for path, l := range h.locks {
		l.unseen = true
		if !inUse[path] {
			l.update(zklock.KeyedLock{Path: path, Key: l.key}, now, nil)
		}
	}
}

// wentTogether counts by session the nodes that have gone at the same time: one of which several have, has
// ended, most likely.
func (h *hub) wentTogether(changed []zklock.KeyedLock) map[int64]int {
	gone := make(map[int64]int)
	for _, l := range changed {
		before := h.locks[l.Path]
		if before == nil {
			continue
		}
		left := make(map[string]bool, len(l.Contenders))
		for _, c := range l.Contenders {
			left[c.Node] = true
		}
		for _, c := range before.found {
			if !left[c.Node] {
				gone[c.Session]++
			}
		}
	}
	return gone
}

// why says how a hold has ended whose node has gone.
func (h *hub) why(c zklock.Contender, gone map[int64]int) string {
	switch {
	case time.Since(h.back) < catchUp:
		return endUnseen
	case h.broken[c.Node]:
		delete(h.broken, c.Node)
		return endBroken
	case gone[c.Session] > 1:
		return endSession
	case c.Revoked:
		return endAsked
	}
	return endGone
}

func (h *hub) at(path string) *lock {
	l := h.locks[path]
	if l == nil {
		l = &lock{path: path}
		h.locks[path] = l
	}
	return l
}

// forget drops what was more than an hour ago.
func (h *hub) forget(now time.Time) {
	for len(h.looks) > 1 && now.Sub(h.looks[0].to) > remembered {
		h.looks = h.looks[1:]
	}
	for path, l := range h.locks {
		if l.forget(now); len(l.found) == 0 && len(l.past) == 0 {
			delete(h.locks, path)
		}
	}
}

// breaks notes that a node is about to be deleted by the page, or was not after all.
func (h *hub) breaks(node string, is bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is {
		h.broken[node] = true
	} else {
		delete(h.broken, node)
	}
}

// tell wakes all who show something.
func (h *hub) tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broadcast()
}

func (h *hub) broadcast() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// whenChanged returns a channel that is closed at the next change.
func (h *hub) whenChanged() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// hasBegun reports whether there is something to show.
func (h *hub) hasBegun() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began || h.failure != nil
}
