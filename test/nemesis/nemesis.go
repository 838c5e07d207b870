package nemesis

import (
	"context"
	"math/rand/v2"
	"time"
)

// fault is something that breaks.
type fault struct {
	name   string
	inject inject
}

// inject breaks something. What it returns heals that, and returns when it is
// done; nil if there is nothing to heal.
type inject func(s *Soak, rng *rand.Rand) (heal func() error, err error)

// nemeses break things side by side, each with faults of its own.
var nemeses = [][]fault{serverFaults, clientFaults}

// wholeRound is a length in which each kind of fault is to come once, however long that takes.
const wholeRound = time.Minute

// nemesis injects one fault after the other for the length of the run, and of a long one until
// each has been. It ends with everything healed.
func (s *Soak) nemesis(ctx context.Context, rng *rand.Rand, faults []fault) error {
	g := generator{rng: rng, faults: faults}
	for n := 0; Since(s.began) < s.Length || n < len(faults) && s.Length >= wholeRound; n++ {
		if pause(ctx, between(rng, 200*time.Millisecond, time.Second)) != nil {
			return nil
		}
		f := g.next()
		err := s.During(f.name, func() error {
			heal, err := f.inject(s, rng)
			if err == nil && heal != nil {
				_ = pause(ctx, between(rng, 100*time.Millisecond, 3*s.Timeout/2))
				err = heal()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// During notes that something happens while do runs.
func (s *Soak) During(name string, do func() error) error {
	i := Injection{Fault: name, Began: Now()}
	err := do()
	i.Ended = Now()
	s.history.Injected(i)
	s.Progress("%4.0fs  %s, over after %.1fs; %d holds so far", Since(s.began).Seconds(), name, i.Ended.Sub(i.Began).Seconds(), s.history.holds())
	return err
}

// generator yields faults: each once, in random order, before any comes again.
type generator struct {
	rng    *rand.Rand
	faults []fault
	left   []int // in the order in which they come
}

func (g *generator) next() fault {
	if len(g.left) == 0 {
		g.left = g.rng.Perm(len(g.faults))
	}
	f := g.faults[g.left[0]]
	g.left = g.left[1:]
	return f
}

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
