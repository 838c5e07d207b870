package clock

import (
	"sync"
	"time"
)

// Pulse beats while the process runs, and so knows when it did not: it was stopped, or had no
// processor. While the machine sleeps the monotonic clock stands still, and no beat is late.
type Pulse struct {
	clock *Clock
	every time.Duration
	tell  func(stopped time.Duration) // is told of each stop when it is over
	look  func()                      // is called at each beat

	mu    sync.Mutex // guards the fields below; the clock's is locked under it
	timer *time.Timer
	last  Instant // beat; zero while there are none
	stops []stop  // the last ones
}

// stop is a time in which the process did not run.
type stop struct {
	until  Instant
	lasted time.Duration
}

// mostStops is how many are known: they are asked for soon afterwards.
const mostStops = 10

// NewPulse returns one of c that does not beat yet. A stop is known to within every.
func NewPulse(c *Clock, every time.Duration, tell func(stopped time.Duration), look func()) *Pulse {
	return &Pulse{clock: c, every: every, tell: tell, look: look}
}

// Start has it beat until Stop.
func (p *Pulse) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.clock.Now()
	p.timer = time.AfterFunc(p.every, p.beat)
}

// Stop ends it.
func (p *Pulse) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.last = Instant{}
}

func (p *Pulse) beat() {
	p.mu.Lock()
	beats := !p.last.IsZero()
	if beats {
		p.count(p.clock.Now())
		p.timer.Reset(p.every)
	}
	p.mu.Unlock()
	if beats {
		p.look()
	}
}

// count notes and tells that the process did not run until now, if that is so. What is less than a
// beat is no stop. p.mu is held.
func (p *Pulse) count(now Instant) {
	if late := now.Least(p.last) - p.every; late >= p.every {
		p.stops = append(p.stops[max(len(p.stops)-mostStops+1, 0):], stop{now, late})
		p.tell(late)
	}
	p.last = now
}

// Stopped returns for how long the process has not run since then, at least.
func (p *Pulse) Stopped(since Instant) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if !p.last.IsZero() {
		p.count(now) // the beat may be about to come
	}
	stopped := time.Duration(0)
	for _, s := range p.stops {
		if until := s.until.Least(since); until > 0 {
			stopped += min(s.lasted, until)
		}
	}
	return stopped
}

// Ran returns for how long the process has run since then, at most.
func (p *Pulse) Ran(since Instant) time.Duration {
	return p.clock.Now().Least(since) - p.Stopped(since)
}
