package work

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/zklock/zklock/bench/internal/result"
)

// Outcome is what a run has yielded so far.
type Outcome struct {
	Figures []result.Figure
	Notes   []string // what went wrong
}

// Run does the works. Nothing that fails ends it: a party that fails twice is
// out of that work, with a note, and what was measured stays.
func (b *Bench) Run(ctx context.Context, plan Plan) Outcome {
	r := &run{
		bench: b, plan: plan, clock: newClock(plan),
		values: make(map[seat][]Numbers), failures: make(map[seat]int),
	}
	r.do(ctx, plan.tasks(b.Has))
	return r.outcome()
}

// run is a plan that is being carried out.
type run struct {
	bench    *Bench
	plan     Plan
	clock    *clock
	values   map[seat][]Numbers
	failures map[seat]int
	notes    []string
}

func (r *run) do(ctx context.Context, tasks []task) {
	left := 0 // tasks for which there was no time
	for i, t := range tasks {
		if ctx.Err() != nil {
			r.note("the run was interrupted in round %d of %d", t.round+1, r.plan.Rounds)
			return
		}
		if i > 0 && t.round > tasks[i-1].round && r.plan.Keep != nil {
			r.plan.Keep(r.outcome())
		}
		if r.out(t) || !r.bench.Has(t.party) {
			continue
		}
		if !r.clock.fits(t) {
			left++
			continue
		}
		r.plan.Progress(r.title(t), r.clock.left(tasks[i:]))
		r.measure(ctx, t)
	}
	if left > 0 {
		r.note("there was no time for %d of %d measurements", left, len(tasks))
	}
}

func (r *run) title(t task) string {
	round := "warm-up"
	if t.round != warmUp {
		round = fmt.Sprintf("round %d of %d", t.round+1, r.plan.Rounds)
	}
	return fmt.Sprintf("%s, %s by %s", round, r.plan.Works[t.work].ID, t.party.Name)
}

func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// out reports whether a party has failed too often in a work.
func (r *run) out(t task) bool { return r.failures[t.seat()] > 1 }

// measure gives a party its turn, with sessions of its own, on a path that is
// the party's alone and that nobody has failed on.
func (r *run) measure(ctx context.Context, t task) {
	w, index := r.plan.Works[t.work], slices.Index(r.plan.Works[t.work].Parties, t.party)
	path := fmt.Sprintf("%s/%s-%d-%d", root, w.ID, index, r.failures[t.seat()])
	r.bench.warm, r.bench.window = r.plan.Warm, r.clock.window(t)

	const patience = 2 * time.Minute
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	numbers, err := w.Measure(limited, r.bench, t.party, path)
	if err == nil {
		err = numbers.check()
	}
	if err == nil && t.round != warmUp {
		r.values[t.seat()] = append(r.values[t.seat()], numbers)
	}
	if err == nil {
		err = r.bench.disband(limited, t.party)
	}
	r.clock.note(t, time.Since(start))
	if err != nil && ctx.Err() == nil {
		r.fail(ctx, t, err)
	}
}

// fail notes a failure, and begins anew with a worker that knows nothing of it.
func (r *run) fail(ctx context.Context, t task, err error) {
	r.failures[t.seat()]++
	r.note("%s: %v", r.title(t), err)
	if err := r.bench.restart(ctx, t.party); err != nil {
		r.note("%s does not start again: %v", t.party.Process, err)
	}
}

// check returns an error if there is something that is no number.
func (n Numbers) check() error {
	for name, value := range n {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return fmt.Errorf("%s is %v", name, value)
		}
	}
	return nil
}

func (r *run) outcome() Outcome {
	o := Outcome{Notes: slices.Clone(r.notes)}
	for i, w := range r.plan.Works {
		for _, q := range w.Shows {
			o.Figures = append(o.Figures, r.figure(i, q))
		}
	}
	return o
}

// figure is one quantity of a work, as measured for each party.
func (r *run) figure(work int, q Quantity) result.Figure {
	w := r.plan.Works[work]
	f := result.Figure{ID: w.ID + "/" + q.Number, Title: q.Title, Unit: q.Unit}
	for _, p := range w.Parties {
		row := result.Row{Party: p.Name, Role: p.Role}
		for _, numbers := range r.values[seat{work, p}] {
			if value, ok := numbers[q.Number]; ok {
				row.Values = append(row.Values, value/q.Per)
			}
		}
		if row.Values != nil {
			f.Rows = append(f.Rows, row)
		}
	}
	return f
}
