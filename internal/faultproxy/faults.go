package faultproxy

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Cut closes the connections of this moment. New ones are accepted.
func (p *Proxy) Cut() {
	for _, l := range p.current() {
		l.cut()
	}
}

// Reset is Cut by RST: both sides see "connection reset by peer".
func (p *Proxy) Reset() {
	for _, l := range p.current() {
		l.reset()
	}
}

func (p *Proxy) current() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.links))
}

// Refuse makes the proxy reset new connections while on. Connections that
// exist are not touched.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = on
}

// Freeze holds what is sent in the direction, the end of a connection too:
// neither side can tell. A new connection is accepted and goes no further.
// Thaw delivers what is held; Drop, Cut and Reset discard it.
func (p *Proxy) Freeze(dir Direction) { p.change(dir, func(w *way) { w.mode = frozen }) }

// Drop swallows what is sent in the direction, the end of a connection too.
func (p *Proxy) Drop(dir Direction) { p.change(dir, func(w *way) { w.mode = dropping }) }

// Thaw ends a Freeze or Drop of the direction.
func (p *Proxy) Thaw(dir Direction) { p.change(dir, func(w *way) { w.mode = passing }) }

// Delay adds d to the time that bytes take in the direction. It does not limit
// how many are under way.
func (p *Proxy) Delay(dir Direction, d time.Duration) { p.change(dir, func(w *way) { w.delay = d }) }

// Slice makes the proxy write at most n bytes at once; 0 is no limit.
func (p *Proxy) Slice(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slice = n
}

func (p *Proxy) change(dir Direction, to func(*way)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, w := range p.ways {
		if dir&d != 0 {
			to(w)
		}
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// way returns the state of a direction and a channel that closes when it may
// be another.
func (p *Proxy) way(dir Direction) (way, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.ways[dir], p.changed
}

// awaitThaw waits while the direction is frozen. It reports false if ctx ended
// first.
func (p *Proxy) awaitThaw(ctx context.Context, dir Direction) bool {
	for {
		way, changed := p.way(dir)
		if way.mode != frozen {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (p *Proxy) sliceSize() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slice
}
