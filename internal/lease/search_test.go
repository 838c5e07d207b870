package lease

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zklock/zklock/internal/clock"
)

// steps returns the ways in which the next step of time may go.
func (sc *scope) steps(w world) []move {
	from, to := append(sc.buffers[0][:0], move{to: w}), sc.buffers[1]
	for _, p := range sc.phases {
		to = to[:0]
		for _, m := range from {
			to = p(to, m)
		}
		from, to = to, from
	}
	sc.buffers = [2][]move{from, to}
	for i := range from {
		w := &from[i].to
		if w.ended && sc.runs(w) {
			from[i].wrong = "the session ends, and its lease has " + of(w.end) + " left"
			continue
		}
		if w.passes(); sc.keeps && w.held == holding && !sc.runs(w) {
			from[i].wrong = "the hold is lost"
			continue
		}
		sc.canonical(w)
	}
	return from
}

// runs reports whether the lease does, by a clock that may have lost time.
func (sc *scope) runs(w *world) bool { return w.end+sc.drift > 0 }

// started is a session that has just been connected.
func started(ping, read uint8) world {
	var w world
	w.left, w.ping, w.read, w.end = countdown, ping, read, over
	w.slow, w.proved, w.ripe = longAgo, longAgo, longAgo
	for i := range w.recent {
		w.recent[i] = unused
	}
	return w
}

// whole fills in what a scope leaves open.
func (sc scope) whole() *scope {
	if sc.tick == 0 {
		sc.tick = countdown / 4
	}
	if sc.starts == 0 {
		sc.starts = sc.tick
	}
	if sc.reading == 0 {
		sc.reading = countdown/3 + 1
	}
	if sc.grant == 0 {
		sc.grant = countdown / 4
	}
	if sc.lasts == nil {
		sc.lasts = func(l *Lease) bool { return l.Lasts(now) }
	}
	if sc.drift == 0 {
		sc.drift = timeout / 100
	}
	if sc.relayed == nil {
		sc.relayed = func(begun clock.Instant) clock.Instant { return relayedBy(begun, timeout) }
	}
	if sc.asked == nil {
		sc.asked = (*client).asks
	}
	sc.phases = []phase{
		sc.severs, sc.asks, sc.carriesOut, sc.reads, sc.uses, sc.proves, sc.arrives(theRead), sc.arrives(theProof), sc.pings, sc.leads,
		sc.answers(theRead), sc.answers(theProof), sc.changes, sc.provesAgain, sc.catchesUp,
	}
	return &sc
}

// check explores a scope breadth first. It returns the shortest way to a lease that outlives
// its session, in words, and how many states there are otherwise.
func (sc scope) check() (states int, trace string) {
	whole := sc.whole()
	known := map[world]struct{}{}
	var queue []world
	var origins []origin
	add := func(w world, o origin) {
		if w == (world{}) {
			return
		}
		if known[w] = struct{}{}; len(known) > len(queue) {
			queue, origins = append(queue, w), append(origins, o)
		}
	}
	for ping := range whole.starts {
		w := started(ping, whole.reading)
		w.budget = whole.budget
		whole.canonical(&w)
		add(w, origin{from: -1})
	}
	for i := 0; i < len(queue); i++ {
		for n, m := range whole.steps(queue[i]) {
			if m.wrong != "" {
				return len(queue), whole.tell(queue, origins, origin{int32(i), int32(n)})
			}
			add(m.to, origin{int32(i), int32(n)})
		}
	}
	return len(queue), ""
}

// origin is how a world was come to: from which, and by which of its steps.
type origin struct{ from, way int32 }

// tell says in words how a world was come to.
func (sc *scope) tell(queue []world, origins []origin, last origin) string {
	sc.words = true
	var way []origin
	for o := last; o.from >= 0; o = origins[o.from] {
		way = append(way, o)
	}
	slices.Reverse(way)
	lines := []string{fmt.Sprintf("the leader pings after %d/%d", queue[way[0].from].ping, countdown)}
	for at, o := range way {
		m := sc.steps(queue[o.from])[o.way]
		if m.wrong != "" {
			m = sc.say(m, "WRONG: %s", m.wrong)
		}
		if m.text != "" {
			lines = append(lines, fmt.Sprintf("%2d/%d%s", at, countdown, strings.Replace(m.text, ";", ":", 1)))
		}
	}
	return strings.Join(lines, "\n")
}

func of(left int16) string { return fmt.Sprintf("%.1f/%d", float64(max(left, 0))/step, countdown) }
