package cli

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/zklock/zklock"
)

// lookAgain is how often a place in the queue is looked at. A watch would tell at
// once, but wake every waiter at each change.
const lookAgain = 2 * time.Second

// place tells, during the wait for a lock, who has it and how far we are.
type place struct {
	session  *zklock.Session
	path     string
	log      *slog.Logger
	enqueued chan string // our node in the queue
}

func newPlace(session *zklock.Session, path string, log *slog.Logger) *place {
	return &place{session: session, path: path, log: log, enqueued: make(chan string, 1)}
}

// option has the lock say when it waits.
func (p *place) option() zklock.Option {
	return zklock.WithTrace(&zklock.Trace{Enqueued: func(i zklock.TraceInfo) {
		select {
		case <-p.enqueued: // an earlier node of ours
		default:
		}
		select {
		case p.enqueued <- i.Node:
		default:
		}
	}})
}

// tell writes our place whenever that or the holder is another one, until ctx ends.
func (p *place) tell(ctx context.Context) {
	var node, told string
	var again <-chan time.Time
	for {
		select {
		case node = <-p.enqueued:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = time.After(lookAgain)
		v, err := look(ctx, p.session, p.path)
		if err != nil {
			continue
		}
		at := slices.IndexFunc(v.found, func(c zklock.Contender) bool { return c.Node == node })
		if at <= 0 || v.found[at].Held {
			continue
		}
		queue := describe(v.found)
		waiting := slices.IndexFunc(queue, func(c contender) bool { return !c.Held })
		if now := queue[0].Node + queue[at-1].Node; now != told {
			p.log.Info("waiting for the lock", "position", at-waiting+1, "holder", queue[0].who(), "holders", waiting)
			told = now
		}
	}
}
