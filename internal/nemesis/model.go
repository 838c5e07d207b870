package nemesis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// operation is what a client does with the lock of one path.
type operation struct {
	kind    operationKind
	attempt *Attempt // whose hold it is about
}

type operationKind int

const (
	acquire operationKind = iota
	acquireUnknown
	lockAgain
	unlockAgain
	release
	lose
	vanish // the owner's end, or an answer that nobody heard
)

func (k operationKind) String() string {
	return [...]string{"acquire", "acquire?", "lock again", "unlock again", "release", "lost", "vanish"}[k]
}

// lockState is a lock as its clients see it. It is not changed once made.
type lockState struct {
	holds   []possession
	written int64 // highest token of those that held the whole lock
	seen    int64 // highest token of all
}

// possession is a hold that has not ended, and how often its owner locked it.
type possession struct {
	attempt *Attempt
	depth   int
}

// lockModel is a reentrant lock with fencing tokens, of which parts can be held:
// whoever acquires finds the parts free, and gets a token above those of all that
// held the whole; whoever acquires the whole gets one above all.
var lockModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{&lockState{}} },
	Step: func(state, input, _ any) []any { return state.(*lockState).step(input.(operation)) },
	Equal: func(a, b any) bool {
		x, y := a.(*lockState), b.(*lockState)
		return x.written == y.written && x.seen == y.seen && slices.Equal(x.holds, y.holds)
	},
	DescribeOperation: func(input, _ any) string { return input.(operation).String() },
	DescribeState:     func(state any) string { return state.(*lockState).String() },
}).ToModel()

// step returns the states that an operation may lead to; none if it cannot be.
func (s *lockState) step(o operation) []any {
	i := slices.IndexFunc(s.holds, func(p possession) bool { return p.attempt == o.attempt })
	switch o.kind {
	case acquire, acquireUnknown:
		return s.acquire(o)
	case vanish:
		if i < 0 {
			return []any{s}
		}
	case lockAgain:
		return s.deepen(i, +1)
	case unlockAgain:
		return s.deepen(i, -1)
	case release:
		if i >= 0 && s.holds[i].depth > 1 {
			return nil
		}
	}
	if i < 0 {
		return nil
	}
	return []any{s.with(slices.Delete(slices.Clone(s.holds), i, i+1))}
}

func (s *lockState) acquire(o operation) []any {
	a := o.attempt
	taken := a.Share.Parts
	for _, p := range s.holds {
		taken += p.attempt.Share.Parts
	}
	fits := taken <= a.Share.Of
	next := s.with(append(slices.Clone(s.holds), possession{a, 1}))
	if o.kind == acquireUnknown {
		if fits {
			return []any{s, next}
		}
		return []any{s}
	}
	if !fits {
		return nil
	}
	if a.Token == 0 { // not asked for
		return []any{next}
	}
	if a.Token <= s.written || a.Share.whole() && a.Token <= s.seen {
		return nil
	}
	next.seen = max(next.seen, a.Token)
	if a.Share.whole() {
		next.written = a.Token
	}
	return []any{next}
}

func (s *lockState) deepen(i, by int) []any {
	if i < 0 || s.holds[i].depth+by < 1 {
		return nil
	}
	holds := slices.Clone(s.holds)
	holds[i].depth += by
	return []any{s.with(holds)}
}

// with returns the state with other holds.
func (s *lockState) with(holds []possession) *lockState {
	return &lockState{holds: holds, written: s.written, seen: s.seen}
}

func (o operation) String() string {
	if o.kind == acquire {
		return fmt.Sprintf("%v %v -> token %#x", o.kind, o.attempt.Share, o.attempt.Token)
	}
	return fmt.Sprintf("%v %v (token %#x)", o.kind, o.attempt.Share, o.attempt.Token)
}

func (s *lockState) String() string {
	if len(s.holds) == 0 {
		return "free"
	}
	var holders []string
	for _, p := range s.holds {
		holders = append(holders, fmt.Sprintf("process %d client %d, %v, %d deep", p.attempt.Process, p.attempt.Client, p.attempt.Share, p.depth))
	}
	return strings.Join(holders, "; ")
}
