package sim

import (
	"math/rand/v2"
	"time"
)

// dice is where a program's chance comes from.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0x5eed))} }

// one is true once in n times.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

// span draws a duration between the bounds, in whole milliseconds so that
// timelines are readable.
func (d dice) span(shortest, longest time.Duration) time.Duration {
	ms := int64((longest-shortest)/time.Millisecond) + 1
	return shortest + time.Duration(d.Int64N(ms))*time.Millisecond
}

// short draws a duration up to longest, most often a small part of it.
func (d dice) short(longest time.Duration) time.Duration {
	return d.span(0, longest>>d.IntN(7))
}

// weighted draws an index by the weights.
func (d dice) weighted(weights []int) int {
	n := d.IntN(sum(weights))
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("unreachable")
}

func sum(weights []int) (total int) {
	for _, w := range weights {
		total += w
	}
	return total
}
