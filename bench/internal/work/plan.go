package work

import "time"

// Plan is how much of the works is done.
type Plan struct {
	Works        []Work
	Rounds       int
	Warm, Window time.Duration // before each measurement, and of it
	Limit        time.Duration // of the whole run, none if zero: what would last longer is left out
	Smoke        bool          // nothing runs warm, and large works are zklock's alone

	Progress func(text string, left time.Duration)
	Keep     func(Outcome) // has what there is after each round
}

// warmUp is the number of the round that does not count. It is shorter, and
// without the works that are large.
const warmUp = -1

// A task is one measurement.
type task struct {
	work  int // in the plan
	party Party
	round int
}

// tasks are all measurements in their order. A round does every work, so that a
// run that ends early has something of each, and what disturbs the machine for
// a while disturbs all alike. In each round of a work every party has its turn,
// and each round begins with another one.
func (p Plan) tasks(has func(Party) bool) []task {
	first := warmUp
	if p.Smoke {
		first = 0
	}
	var all []task
	for round := first; round < p.Rounds; round++ {
		for i, w := range p.Works {
			if round == warmUp && w.Large || w.MostRounds > 0 && round >= w.MostRounds {
				continue
			}
			turn := p.parties(w, has)
			for j := range turn {
				all = append(all, task{work: i, party: turn[(j+round+len(turn))%len(turn)], round: round})
			}
		}
	}
	return all
}

// parties are those that do a work.
func (p Plan) parties(w Work, has func(Party) bool) []Party {
	var chosen []Party
	for _, party := range w.Parties {
		if has(party) && !(p.Smoke && w.Large && party != zklock) {
			chosen = append(chosen, party)
		}
	}
	return chosen
}

// clock knows how long a run has taken, and guesses how long it will.
type clock struct {
	plan  Plan
	start time.Time
	took  map[seat]time.Duration
}

// seat is what a task has in common with the same one of other rounds.
type seat struct {
	work  int
	party Party
}

func (t task) seat() seat { return seat{t.work, t.party} }

func newClock(p Plan) *clock {
	return &clock{plan: p, start: time.Now(), took: make(map[seat]time.Duration)}
}

// window is how long a task measures.
func (c *clock) window(t task) time.Duration {
	if t.round == warmUp {
		return c.plan.Window / 4
	}
	return c.plan.Window
}

// note keeps how long a task took.
func (c *clock) note(t task, took time.Duration) {
	c.took[t.seat()] = took + c.plan.Window - c.window(t)
}

// usual is how long a task will take: as long as the last time, or a guess.
func (c *clock) usual(t task) time.Duration {
	const setUp, largeSetUp = 300 * time.Millisecond, 6 * time.Second
	took, known := c.took[t.seat()]
	switch {
	case !known && c.plan.Works[t.work].Large:
		took = c.plan.Warm + c.plan.Window + largeSetUp
	case !known:
		took = c.plan.Warm + c.plan.Window + setUp
	}
	return took - c.plan.Window + c.window(t)
}

// left is how long some tasks will take.
func (c *clock) left(tasks []task) (left time.Duration) {
	for _, t := range tasks {
		left += c.usual(t)
	}
	return left
}

// fits reports whether there is time for a task.
func (c *clock) fits(t task) bool {
	return c.plan.Limit == 0 || time.Since(c.start)+c.usual(t) < c.plan.Limit
}
