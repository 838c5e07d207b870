package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/zklock/zklock/election"
)

// stepTime is what a step of the work may take.
const stepTime = time.Second

// work is what the leader does: yours goes here. It ends soon after ctx has ended, looks at the term before
// each step, and has what it writes elsewhere carry the term's token.
func work(ctx context.Context, term *election.Term) error {
	steps := time.NewTicker(stepTime)
	defer steps.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx) // which says why
		case <-steps.C:
			if !term.Valid() {
				return term.Err()
			}
			slog.InfoContext(ctx, "one step", "token", term.Token())
		}
	}
}
