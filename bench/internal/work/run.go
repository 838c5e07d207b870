package work

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zklock/zklock/bench/internal/result"
)

// Plan is how much of the works is done.
type Plan struct {
	Works    []Work
	Rounds   int
	Cold     bool // every round counts, the first too
	Progress func(text string)
}

// Run does the works one after the other. In each round of a work every party
// has its turn, and each round begins with another one, so that what disturbs
// the machine for a while disturbs all alike. A party that fails is out of that
// work, with a note.
func (b *Bench) Run(ctx context.Context, plan Plan) (figures []result.Figure, notes []string, err error) {
	for i, w := range plan.Works {
		r := &rounds{work: w, bench: b, cold: plan.Cold || w.Fresh, values: make(map[string][]Numbers)}
		for _, p := range w.Parties {
			if b.Has(p) {
				r.parties = append(r.parties, p)
			}
		}
		progress := func(text string) {
			plan.Progress(fmt.Sprintf("work %d of %d, %s: %s", i+1, len(plan.Works), w.ID, text))
		}
		if err := r.do(ctx, plan.Rounds, progress); err != nil {
			return nil, nil, err
		}
		figures = append(figures, r.figures()...)
		notes = append(notes, r.notes...)
	}
	return figures, notes, nil
}

// rounds are those of one work.
type rounds struct {
	bench   *Bench
	work    Work
	cold    bool
	parties []Party // that have not failed
	values  map[string][]Numbers
	notes   []string
}

func (r *rounds) do(ctx context.Context, n int, progress func(text string)) error {
	if r.work.MostRounds > 0 {
		n = min(n, r.work.MostRounds)
	}
	first := 0
	if !r.cold {
		first = -1 // a round that does not count
	}
	for round := first; round < n; round++ {
		turn := slices.Clone(r.parties)
		for i := range turn {
			p := turn[(i+round+len(turn))%len(turn)]
			progress(fmt.Sprintf("round %d of %d, %s", round+1, n, p.Name))
			if err := r.measure(ctx, p, round >= 0); err != nil {
				return err
			}
		}
	}
	return r.disband(ctx)
}

// measure returns an error only if the whole run is to end.
func (r *rounds) measure(ctx context.Context, p Party, counts bool) error {
	index := slices.Index(r.work.Parties, p)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	numbers, err := r.work.Measure(ctx, r.bench, p, fmt.Sprintf("%s/%s-%d", root, r.work.ID, index))
	switch {
	case context.Cause(ctx) == context.Canceled:
		return context.Canceled
	case err != nil:
		r.notes = append(r.notes, fmt.Sprintf("%s is out of %s: %v", p.Name, r.work.ID, err))
		r.parties = slices.DeleteFunc(r.parties, func(other Party) bool { return other == p })
		delete(r.values, p.Name)
	case counts:
		r.values[p.Name] = append(r.values[p.Name], numbers)
	}
	return nil
}

// disband ends all sessions, and those workers that cannot: they are out of
// what is left of the run.
func (r *rounds) disband(ctx context.Context) error {
	for _, p := range r.work.Parties {
		if !r.bench.Has(p) {
			continue
		}
		if err := r.bench.disband(ctx, p); err != nil {
			r.notes = append(r.notes, fmt.Sprintf("%s is out after %s: %v", p.Process, r.work.ID, err))
			r.bench.dismiss(p)
		}
	}
	return ctx.Err()
}

// figures are what is shown of the work.
func (r *rounds) figures() []result.Figure {
	var figures []result.Figure
	for _, q := range r.work.Shows {
		f := result.Figure{ID: r.work.ID + "/" + q.Number, Title: q.Title, Unit: q.Unit}
		for _, p := range r.work.Parties {
			row := result.Row{Party: p.Name, Role: p.Role}
			for _, numbers := range r.values[p.Name] {
				if value, ok := numbers[q.Number]; ok {
					row.Values = append(row.Values, value/q.Per)
				}
			}
			if row.Values != nil {
				f.Rows = append(f.Rows, row)
			}
		}
		figures = append(figures, f)
	}
	return figures
}
