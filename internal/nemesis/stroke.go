package nemesis

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Stroke is a fault that happened.
type Stroke struct {
	What         string
	Began, Ended Instant
}

// fault is something that breaks.
type fault struct {
	name   string
	strike strike
}

// strike breaks something. What it returns repairs it, and returns when that is
// done; nil if there is nothing to repair.
type strike func(s *Soak, dice *rand.Rand) (end func() error, err error)

// nemesis strikes with one fault after the other for the length of the run, and
// until each has struck. It ends with everything repaired.
func (s *Soak) nemesis(ctx context.Context, dice *rand.Rand, faults []fault) error {
	d := deck{dice: dice, faults: faults}
	for dealt := 0; dealt < len(faults) || Since(s.began) < s.Length; dealt++ {
		if pause(ctx, between(dice, 200*time.Millisecond, time.Second)) != nil {
			return nil
		}
		f := d.deal()
		stroke := Stroke{What: f.name, Began: Now()}
		end, err := f.strike(s, dice)
		if err == nil && end != nil {
			_ = pause(ctx, between(dice, 100*time.Millisecond, 3*s.Timeout/2))
			err = end()
		}
		stroke.Ended = Now()
		s.strokes.add(stroke)
		s.Progress("%4.0fs  %s, over after %.1fs", Since(s.began).Seconds(), f.name, stroke.Ended.Sub(stroke.Began).Seconds())
		if err != nil {
			return err
		}
	}
	return nil
}

// deck deals faults like cards: each once, in random order, before any comes again.
type deck struct {
	dice   *rand.Rand
	faults []fault
	left   []int // in the order in which they are dealt
}

func (d *deck) deal() fault {
	if len(d.left) == 0 {
		d.left = d.dice.Perm(len(d.faults))
	}
	f := d.faults[d.left[0]]
	d.left = d.left[1:]
	return f
}

func between(dice *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(dice.Int64N(int64(most-least)))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// strokes are those of a run.
type strokes struct {
	mu  sync.Mutex
	all []Stroke
}

func (s *strokes) add(one Stroke) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

func (s *strokes) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
