package cli

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
)

// lockFlags say which kind of lock to take, and how long to wait for it.
type lockFlags struct {
	shared, exclusive bool
	limit             int
	nonblock          bool
	wait              duration
	data              string
}

func (l *lockFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&l.exclusive, "exclusive", "x", false, "one at a time (the default)")
	flags.BoolVarP(&l.shared, "shared", "s", false, "together with others that share, and with nobody else")
	flags.IntVar(&l.limit, "limit", 0, "together with at most `N`-1 others that give the same limit: a semaphore")
	flags.BoolVarP(&l.nonblock, "nonblock", "n", false, "do not wait if somebody else has the lock, or waits for it")
	flags.VarP(&l.wait, "timeout", "w", "wait for the lock no longer than this, connecting included; 0 is --nonblock")
	flags.Var((*nonEmpty)(&l.data), "data", "what the lock's node says about its owner (default host, process id and start, the program that is run, --on-revoke, and since when it has the lock)")
}

func (l *lockFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("limit") && l.limit < 1 {
		return usage("--limit %d: it must be at least 1", l.limit)
	}
	if cmd.Flags().Changed("exclusive") && !l.exclusive && !l.shared && l.limit == 0 {
		return usage("--exclusive=false: without --shared or --limit a lock is exclusive; give one of them")
	}
	return cmp.Or(notTogether(cmd, "exclusive", "shared", "limit"), notTogether(cmd, "nonblock", "timeout"))
}

// try reports whether not to wait at all.
func (l *lockFlags) try() bool { return l.nonblock || l.wait.set && l.wait.Duration == 0 }

// lock is what the kinds of locks have in common.
type lock struct {
	acquire, try func(context.Context) (*zklock.Hold, error)
}

// on returns the lock that the flags describe.
func (l *lockFlags) on(session *zklock.Session, path string, options ...zklock.Option) (lock, error) {
	if l.data != "" {
		options = append(options, zklock.WithData([]byte(l.data)))
	}
	switch {
	case l.limit > 0:
		s, err := zklock.NewSemaphore(session, path, l.limit, options...)
		if err != nil {
			return lock{}, err
		}
		return lock{
			acquire: func(ctx context.Context) (*zklock.Hold, error) { return s.Acquire(ctx, 1) },
			try:     func(ctx context.Context) (*zklock.Hold, error) { return s.TryAcquire(ctx, 1) },
		}, nil
	case l.shared:
		rw, err := zklock.NewRW(session, path, options...)
		if err != nil {
			return lock{}, err
		}
		return lock{acquire: rw.RAcquire, try: rw.TryRAcquire}, nil
	}
	m, err := zklock.New(session, path, options...)
	if err != nil {
		return lock{}, err
	}
	return lock{acquire: m.Acquire, try: m.TryAcquire}, nil
}

// take waits for the lock as long as ctx and the flags allow.
func (l *lockFlags) take(ctx context.Context, session *zklock.Session, path string, options ...zklock.Option) (*zklock.Hold, error) {
	k, err := l.on(session, path, options...)
	if err != nil {
		return nil, withCode(exitUsage, err) // no server was asked
	}
	if l.try() {
		ctx, cancel := context.WithTimeout(ctx, session.Timeout()) // for a lost connection to come back
		defer cancel()
		hold, err := k.try(ctx)
		return hold, classify(err)
	}
	hold, err := k.acquire(ctx)
	return hold, classify(err)
}

// progressInterval is how often a place in the queue is looked at. A watch would tell at
// once, but wake every waiter at each change.
const progressInterval = 2 * time.Second

// progress tells, during the wait for a lock, who has it and how far we are.
type progress struct {
	session  *zklock.Session
	path     string
	log      *slog.Logger
	enqueued chan string // our node in the queue
}

func newProgress(session *zklock.Session, path string, log *slog.Logger) *progress {
	return &progress{session: session, path: path, log: log, enqueued: make(chan string, 1)}
}

// option has the lock say when it waits.
func (p *progress) option() zklock.Option {
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

// report writes our place whenever that or the holder is another one, until ctx ends.
func (p *progress) report(ctx context.Context) {
	var node, told string
	var again <-chan time.Time
	for {
		select {
		case node = <-p.enqueued:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = time.After(progressInterval)
		v, err := look(ctx, p.session, p.path)
		if err != nil {
			continue
		}
		at := slices.IndexFunc(v.found, func(c zklock.Contender) bool { return c.Node == node })
		if at <= 0 || v.found[at].Held {
			continue
		}
		holders := slices.IndexFunc(v.found, func(c zklock.Contender) bool { return !c.Held })
		if now := v.found[0].Node + v.found[at-1].Node; now != told {
			p.log.Info("waiting for the lock", "position", at-holders+1, "holder", shown.Of(v.found[0]).Who(), "holders", holders)
			told = now
		}
	}
}
