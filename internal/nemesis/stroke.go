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

// fault is something that breaks, and how often it is drawn.
type fault struct {
	name   string
	weight int
	strike strike
}

// strike breaks something. What it returns repairs it, and returns when that is
// done; nil if there is nothing to repair.
type strike func(s *Soak, dice *rand.Rand) (end func() error, err error)

// nemesis strikes with one fault after the other until ctx ends.
func (s *Soak) nemesis(ctx context.Context, dice *rand.Rand, faults []fault) error {
	for {
		if pause(ctx, between(dice, 200*time.Millisecond, time.Second)) != nil {
			return nil
		}
		f := draw(dice, faults)
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
}

func draw(dice *rand.Rand, faults []fault) fault {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	at := dice.IntN(total)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	panic("unreachable")
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
