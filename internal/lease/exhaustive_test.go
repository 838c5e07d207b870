package lease

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
)

var (
	full = flag.Bool("lease.full", false, "check all of each scope, which takes half a minute")
	wide = flag.Bool("lease.wide", false, "check the larger scopes, which takes long and much memory")
)

// scopes are what is explored. The second budget is for -lease.wide.
var scopes = []struct {
	name string
	scope
	wide budget
}{
	{
		"legs that are late, and a cut",
		scope{budget: budget{late: 3, cuts: 1}},
		budget{late: 5, cuts: 1},
	},
	{
		"a leg and a ping that are late, a lock given back and another one, and a cut",
		scope{budget: budget{late: 1, pings: 2, cuts: 1, releases: 1}},
		budget{late: 2, pings: 4, cuts: 1, releases: 1},
	},
	{
		"a lock given back and another one, and a cut",
		scope{budget: budget{late: 1, cuts: 1, releases: 1}},
		budget{late: 3, cuts: 1, releases: 2},
	},
	{
		"a long pause, and a cut",
		scope{budget: budget{pauses: 1, cuts: 1}, longest: 24},
		budget{pauses: 2, cuts: 1},
	},
	{
		"a pause, a leg that is late, and a cut",
		scope{budget: budget{late: 1, pauses: 1, cuts: 1}, longest: 12},
		budget{late: 2, pauses: 1, cuts: 1},
	},
	{
		"a pause, a lock given back and another one, and a cut",
		scope{budget: budget{pauses: 1, cuts: 1, releases: 1}, longest: 8},
		budget{late: 1, pauses: 1, cuts: 1, releases: 1},
	},
	{
		"a shorter tick, legs that are late, a pause, and a cut",
		scope{budget: budget{late: 1, pauses: 1, cuts: 1}, longest: 8, tick: 5},
		budget{late: 2, pauses: 1, cuts: 1},
	},
	{
		"a connect request without an answer, a leg that is late, a lock given back and another one, and a cut",
		scope{budget: budget{late: 1, cuts: 1, releases: 1, asks: 1}},
		budget{late: 2, cuts: 1, releases: 1, asks: 2},
	},
	{
		"holds that outlive a leg that is late",
		scope{budget: budget{late: 1, releases: 1}, keeps: true},
		budget{late: 2, releases: 2},
	},
	{
		"holds that follow a gap in which nothing was answered",
		scope{budget: budget{late: 1}, keeps: true, reading: 24},
		budget{late: 2, releases: 1},
	},
}

// parts are what is explored of the largest scopes without -lease.full.
var parts = map[string]budget{
	"a leg and a ping that are late, a lock given back and another one, and a cut":                          {pings: 2, cuts: 1, releases: 1},
	"a pause, a leg that is late, and a cut":                                                                {pauses: 1, cuts: 1},
	"a pause, a lock given back and another one, and a cut":                                                 {cuts: 1, releases: 1},
	"a connect request without an answer, a leg that is late, a lock given back and another one, and a cut": {cuts: 1, releases: 1, asks: 1},
}

func TestNoScheduleOfASmallScopeHasALeaseOutliveItsSession(t *testing.T) {
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

// terms are what the lease rests on, each taken away.
var terms = map[string]scope{
	"a touch ends the lease": {
		budget: budget{cuts: 1},
		proved: func(a *answered) { a.Early, a.lease.sure, a.lease.next = a.Begun, a.Begun, a.Begun },
	},
	"a touch was answered a quarter of the timeout ahead of the proof": {
		budget:  budget{cuts: 1},
		relayed: func(begun clock.Instant) clock.Instant { return begun },
	},
	"it was answered another 32nd ahead of the first one": {
		budget: budget{pings: 2, cuts: 1},
		proved: func(a *answered) { a.Early = a.Touched },
	},
	"a touch counts less than the timeout, for clocks that drift": {
		budget: budget{cuts: 1}, drift: timeout * 6 / 100,
	},
	"half a tick is a quarter of the timeout at most": {
		budget: budget{cuts: 1}, tick: countdown * 3 / 8,
	},
	"a second proof makes a touch sure, while a lease runs": {
		budget: budget{cuts: 1, pauses: 1}, longest: 24,
		proved: func(a *answered) {
			if a.lease.RunsAt(now) {
				a.lease.next = a.Touched
			}
		},
	},
	"the leader has had time to catch up before that": {
		budget: budget{cuts: 1, pauses: 1}, longest: 24,
		began: func(a *answered) { a.lease.ripe = now },
	},
	"a slow proof does not begin a lease": {
		budget: budget{pauses: 1}, longest: 24,
		proved: func(a *answered) { a.quick = true },
	},
	"the leader has had time to catch up before the next one does": {
		budget: budget{pauses: 1}, longest: 24,
		began: func(a *answered) { a.lease.slow = clock.Earlier(a.lease.slow, now) },
	},
	"a slow one that follows makes sure of the first one's touches only": {
		budget: budget{late: 1, cuts: 1, pauses: 1}, longest: 8,
		proved: func(a *answered) { a.quick = a.quick || a.second() },
	},
	"a slow one that follows leaves a doubt too": {
		budget: budget{late: 1, cuts: 1, pauses: 1}, longest: 12,
		proved: func(a *answered) {
			if a.second() {
				a.lease.slow = clock.Instant{}
			}
		},
	},
	"each touch is sure while the one ahead of it counts": {
		budget: budget{}, keeps: true, reading: 24,
		lasts: func(l *Lease) bool { return l.spares(now) },
	},
	"a connect request without an answer ends the lease": {
		budget: budget{asks: 1},
		asked:  func(_ *client, l *Lease) { l.unheard = []clock.Instant{now} },
	},
	"no server grants less than a quarter of the timeout": {
		budget: budget{asks: 1}, grant: countdown/4 - 1,
	},
	"it does so while nothing is held": {
		budget: budget{asks: 1, releases: 1},
		asked: func(c *client, l *Lease) {
			if l.unheard = []clock.Instant{now}; c.held != idle {
				l.Asks(now)
			}
		},
	},
	"it ends what a proof behind it begins": {
		budget: budget{asks: 1},
		asked: func(_ *client, l *Lease) {
			l.Asks(now)
			l.unheard = nil
		},
	},
	"a slow one of a hold does": {
		budget: budget{cuts: 1, pauses: 1, releases: 1}, longest: 12,
		proved: func(a *answered) {
			if a.held {
				a.lease.slow = clock.Instant{}
			}
		},
	},
}

// second reports whether the proof makes sure of what the last one made likely.
func (a *answered) second() bool {
	return a.Begun.Least(a.lease.ripe) >= 0 && now.Least(a.lease.ripe) < timeout/4
}

func TestEachTermTakenAwayHasACounterexample(t *testing.T) {
	if testing.Short() {
		t.Skip("explores millions of states")
	}
	for name, sc := range terms {
		t.Run(name, func(t *testing.T) {
			sc.starts = 1 // which shows most of them, in a fraction of the states
			states, trace := sc.check()
			if trace == "" {
				sc.starts = 0
				states, trace = sc.check()
			}
			require.NotEmpty(t, trace, "%d states", states)
			t.Logf("after %d states:\n%s", states, trace)
		})
	}
}
