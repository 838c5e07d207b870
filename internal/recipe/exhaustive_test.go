package recipe

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	full = flag.Bool("recipe.full", false, "check all of each scope, which takes half a minute")
	wide = flag.Bool("recipe.wide", false, "check the larger scopes, which takes hours and much memory")
)

// check explores a scope breadth first. It returns the shortest way to a state that breaks
// something, in words, and how many states there are otherwise.
func (sc scope) check() (states int, trace string) {
	type origin struct {
		from int32
		step uint8
	}
	var start state
	start.budget = sc.budget
	for i := range start.actors {
		if i >= len(sc.actors) {
			start.actors[i].phase = over
		}
	}
	sc.canonical(&start)
	known := map[state]struct{}{start: {}}
	queue := []state{start}
	origins := []origin{{from: -1}}
	tell := func(last int32, wrong string, final int) string {
		var way []uint8
		for at := last; origins[at].from >= 0; at = origins[at].from {
			way = append(way, origins[at].step)
		}
		sc.words = true
		var lines []string
		s := start
		for i := len(way) - 1; i >= 0; i-- {
			st := sc.steps(s)[way[i]]
			lines, s = append(lines, st.text), st.to
		}
		if final >= 0 {
			lines = append(lines, sc.steps(s)[final].text)
		}
		return strings.Join(append(lines, "WRONG: "+wrong), "\n")
	}
	for at := 0; at < len(queue); at++ {
		s := queue[at]
		next := sc.steps(s)
		if wrong := sc.stuck(&s, next); wrong != "" {
			return len(queue), tell(int32(at), wrong, -1)
		}
		for n, st := range next {
			if st.wrong != "" {
				return len(queue), tell(int32(at), st.wrong, n)
			}
			if known[st.to] = struct{}{}; len(known) > len(queue) {
				queue = append(queue, st.to)
				origins = append(origins, origin{int32(at), uint8(n)})
			}
		}
	}
	return len(queue), ""
}

func exclusive(of ...int) (all []actor) {
	for _, session := range of {
		all = append(all, actor{kind: Exclusive, session: session})
	}
	return all
}

// scopes are what is explored. The second budget is for -recipe.wide.
var scopes = []struct {
	name string
	scope
	wide budget
}{
	{"three contenders of three sessions", scope{
		actors: exclusive(0, 1, 2), budget: budget{reconnects: 1, deletes: 1, leaves: 1},
	}, budget{2, 1, 1, 1, 1, 0}},
	{"two of one session and one of another", scope{
		actors: exclusive(0, 0, 1), budget: budget{reconnects: 1, ends: 1, deletes: 1}, asks: true, follows: true,
	}, budget{1, 1, 2, 1, 1, 0}},
	{"three of one session", scope{
		actors: exclusive(0, 0, 0), budget: budget{reconnects: 1, ends: 1, deletes: 1, changes: 1}, follows: true,
	}, budget{2, 1, 2, 1, 1, 0}},
	{"a writer that downgrades, a writer and a reader", scope{
		actors: []actor{{kind: Write, downgrades: true}, {kind: Write, session: 1}, {kind: Read, session: 2}}, budget: budget{ends: 1, deletes: 1},
	}, budget{1, 1, 1, 0, 1, 0}},
	{"two writers that downgrade and a reader of two sessions", scope{
		actors: []actor{{kind: Write, downgrades: true}, {kind: Write, session: 1, downgrades: true}, {kind: Read, session: 1}}, budget: budget{reconnects: 1, ends: 1},
	}, budget{1, 1, 1, 1, 1, 0}},
	{"four contenders of three sessions", scope{
		actors: exclusive(0, 0, 1, 2), follows: true,
	}, budget{deletes: 1, leaves: 1}},
	{"two of one session that ask, in a queue that is made anew", scope{
		actors: exclusive(0, 0, 1), budget: budget{renewals: 1}, asks: true, follows: true,
	}, budget{1, 1, 1, 0, 1, 1}},
	{"two of one session that ask, and a writer that downgrades", scope{
		actors: append(exclusive(0, 0), actor{kind: Write, session: 1, downgrades: true}), budget: budget{deletes: 1}, asks: true, follows: true,
	}, budget{1, 1, 1, 0, 1, 0}},
	{"two of one session that ask, and another library's lock that leaves a node in its place", scope{
		actors: append(exclusive(0, 0), actor{session: 2, stem: "x-12-", downgrades: true}), asks: true, follows: true,
	}, budget{1, 1, 1, 0, 1, 0}},
	{"a queue that is made anew", scope{
		actors: exclusive(0, 1, 0), budget: budget{reconnects: 1, leaves: 1, renewals: 1}, follows: true,
	}, budget{2, 1, 1, 0, 1, 1}},
	{"the counter's end", scope{
		actors: exclusive(0, 1, 2), counter: orderEnd - 2, budget: budget{reconnects: 1, deletes: 1},
	}, budget{1, 1, 1, 1, 1, 0}},
	{"a lock of another library between two of one session", scope{
		actors: append(exclusive(0, 0), actor{session: 2, stem: "lock_"}), budget: budget{reconnects: 1, ends: 1, deletes: 1}, follows: true,
	}, budget{1, 1, 1, 1, 1, 1}},
	{"a lock of another library that is called by its number", scope{
		actors: append(exclusive(0, 1), actor{session: 2, stem: bare}), budget: budget{deletes: 1, leaves: 1},
	}, budget{1, 1, 1, 1, 1, 1}},
	{"a lock of another library that says so", scope{
		actors: append(exclusive(0, 1), actor{session: 2, stem: plain}), budget: budget{deletes: 1, leaves: 1},
	}, budget{1, 1, 1, 1, 1, 1}},
	{"another library's lock that leaves a node in its place, a writer and a reader", scope{
		actors: []actor{{kind: Write}, {kind: Read, session: 1}, {session: 2, stem: "x-12-", downgrades: true}}, budget: budget{deletes: 1},
	}, budget{1, 1, 1, 0, 1, 0}},
	{"a child that is no lock's", scope{
		actors: append(exclusive(0, 0, 1), actor{session: 2, stem: "order-", persists: true}), budget: budget{reconnects: 1}, follows: true,
	}, budget{1, 1, 1, 0, 1, 0}},
	{"a counter that has run over", scope{
		actors: exclusive(0, 1, 2), counter: math.MaxInt32 - 1, budget: budget{deletes: 1},
	}, budget{1, 1, 1, 1, 1, 0}},
}

// parts are what is explored of the largest scopes without -recipe.full.
var parts = map[string]budget{
	"two of one session and one of another":                                         {reconnects: 1, ends: 1},
	"a writer that downgrades, a writer and a reader":                               {deletes: 1},
	"a lock of another library between two of one session":                          {ends: 1, deletes: 1},
	"another library's lock that leaves a node in its place, a writer and a reader": {},
}

func TestNoScheduleOfASmallScopeBreaksTheRecipe(t *testing.T) {
	if testing.Short() {
		t.Skip("explores millions of states")
	}
	for _, sc := range scopes {
		t.Run(sc.name, func(t *testing.T) {
			if part, large := parts[sc.name]; large && !*full {
				sc.budget = part
			}
			if *wide {
				sc.budget = sc.wide
			}
			began := time.Now()
			states, trace := sc.check()
			require.Empty(t, trace)
			t.Logf("%d states in %v", states, time.Since(began).Round(time.Millisecond))
		})
	}
}

func TestEachConditionTakenAwayHasACounterexample(t *testing.T) {
	if testing.Short() {
		t.Skip("explores millions of states")
	}
	writers := []actor{{kind: Write, downgrades: true}, {kind: Write, session: 1}}
	foreign := actor{session: 2, stem: "n_"}
	for name, sc := range map[string]scope{
		"a wake-up by any change": {
			actors: exclusive(0, 1), budget: budget{changes: 1}, wakeup: func(w *Wakeup) { w.Deleted = true },
		},
		"a wake-up with others ahead": {
			actors: exclusive(0, 1, 2), budget: budget{leaves: 1, reconnects: 1},
			wakeup: func(w *Wakeup) { w.Position.Ahead = 1 },
		},
		"a wake-up by a writer that may have downgraded": {
			actors: writers, wakeup: func(w *Wakeup) { w.Position.Nearest.Kind = Exclusive },
		},
		"a wake-up by the end of the own session": {
			actors: exclusive(0, 0), budget: budget{ends: 1}, wakeup: func(w *Wakeup) { w.SameSession = false },
		},
		"a wake-up without a watch on the own node": {
			actors: exclusive(0, 1), budget: budget{deletes: 2},
			wakeup: func(w *Wakeup) { w.OwnWatched = true },
		},
		"a wake-up of an earlier connection": {
			actors: exclusive(0, 1), budget: budget{deletes: 1, reconnects: 1}, keeps: true,
		},
		"a wake-up by another library's node, which may have left one in its place": {
			actors: append(exclusive(0), actor{session: 2, stem: "n_", downgrades: true}),
			wakeup: func(w *Wakeup) { w.Position.Nearest.Foreign = false },
		},
		"a child of another library's": {
			actors: append(exclusive(0), foreign), contends: func(n Node, _ bool) bool { return !n.Foreign },
		},
		"a child between two of one session": {
			actors: append(exclusive(0, 0), foreign), follows: true, contends: func(n Node, _ bool) bool { return !n.Foreign },
		},
		"a child that is there for good": {
			actors:   append(exclusive(0), actor{session: 2, stem: "order-", persists: true}),
			contends: func(Node, bool) bool { return true },
		},
		"a list of a new connection's server": {
			actors: exclusive(0), budget: budget{reconnects: 1}, behindhand: true,
		},
		"asking for the own node ahead of the others": {
			actors: exclusive(0, 0), budget: budget{deletes: 2}, asks: true, ownFirst: true,
		},
		"asking by a list that does not show the own node": {
			actors: exclusive(0, 0, 1), budget: budget{leaves: 1}, asks: true,
			remaining: func(listed []Node, self Node) ([]Node, bool) {
				return Remaining(append(listed, self), self, 0, most)
			},
		},
		"asking past a writer that may have downgraded": {
			actors: append(exclusive(0, 0), actor{kind: Write, session: 1, downgrades: true}), budget: budget{leaves: 1}, asks: true,
			remaining: asIfExclusive,
		},
		"asking past another library's node, which may have left one in its place": {
			actors: append(exclusive(0, 0), actor{session: 2, stem: "n_", downgrades: true}), budget: budget{leaves: 1}, asks: true,
			remaining: asIfExclusive,
		},
		"numbers at the counter's end": {
			actors: exclusive(0, 1, 2), counter: math.MaxInt32 - 1, locate: func(nodes []Node, self Node) (Position, error) {
				at, err := locate(nodes, self)
				if errors.Is(err, ErrTwice) {
					err = nil
				}
				return at, err
			},
		},
		"the succession of a writer": {
			actors: []actor{{kind: Write, downgrades: true}, {kind: Write}}, follows: true,
			succession: func(s *Succession) { s.Ahead.Kind, s.Self.Kind = Exclusive, Exclusive },
		},
		"a succession of those that are not neighbours": {
			actors: exclusive(0, 1, 0), follows: true, succession: func(s *Succession) { s.Listed = true },
		},
		"a succession in a queue that was made anew": {
			actors: exclusive(0, 1, 0), budget: budget{renewals: 1}, follows: true,
			succession: func(s *Succession) { s.SameQueue = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			states, trace := sc.check()
			require.NotEmpty(t, trace, "%d states", states)
			t.Log(fmt.Sprintf("after %d states:\n", states) + trace)
		})
	}
}

func asIfExclusive(listed []Node, self Node) ([]Node, bool) {
	for i := range listed {
		listed[i].Kind, listed[i].Foreign = Exclusive, false
	}
	return Remaining(listed, self, 0, most)
}
