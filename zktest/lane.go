package zktest

import "time"

// lane is a one-way stream: what is pushed comes out in order, each item no sooner than its delay, none while the lane
// is held. Everything that travels in this package travels in lanes (requests, replies, messages between servers, log
// writes, commits on their way into a follower's tree), which is what lets faults delay and stop them.
type lane struct {
	e       *Ensemble
	blocked func() bool // nil: never
	holds   int         // faults that hold this lane
	items   []laneItem
	ready   bool // queued to run
	timer   *time.Timer
}

type laneItem struct {
	due time.Time // zero: at once
	fn  func()
}

func (l *lane) push(delay time.Duration, fn func()) {
	var due time.Time
	if n := len(l.items); n > 0 {
		due = l.items[n-1].due
	}
	if delay > 0 {
		if at := time.Now().Add(delay); at.After(due) {
			due = at
		}
	}
	l.items = append(l.items, laneItem{due, fn})
	l.wake()
}

// unshift puts fn back in front of everything else.
func (l *lane) unshift(fn func()) {
	l.items = append([]laneItem{{fn: fn}}, l.items...)
	l.wake()
}

// clear drops what is on its way.
func (l *lane) clear() {
	l.items = nil
	l.disarm()
}

// hurry lets everything that is on its way come out within d.
func (l *lane) hurry(d time.Duration) {
	latest := time.Now().Add(d)
	for i := range l.items {
		if l.items[i].due.After(latest) {
			l.items[i].due = latest
		}
	}
	l.disarm()
	l.wake()
}

// release takes back one hold.
func (l *lane) release() {
	l.holds--
	l.wake()
}

func (l *lane) wake() {
	if !l.ready {
		l.ready = true
		l.e.ready = append(l.e.ready, l)
	}
}

// run lets out everything that is due. Only settle calls it, so that no item runs inside another.
func (l *lane) run() {
	l.ready = false
	for len(l.items) > 0 && l.holds == 0 && (l.blocked == nil || !l.blocked()) {
		head := l.items[0]
		if !head.due.IsZero() {
			if wait := time.Until(head.due); wait > 0 {
				l.arm(wait)
				return
			}
		}
		l.items[0] = laneItem{} // let go of the frame
		l.items = l.items[1:]
		head.fn()
	}
}

func (l *lane) disarm() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

func (l *lane) arm(wait time.Duration) {
	if l.timer != nil {
		return
	}
	l.timer = l.e.after(wait, func() {
		l.timer = nil
		l.wake()
	})
}
