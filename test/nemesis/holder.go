package nemesis

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
)

// lookEvery is how often a client looks at its hold.
const lookEvery = time.Millisecond

// What a process of holders says, and is told.
const (
	stateReady  = "ready"
	stateLocked = "locked"
	stateLost   = "lost"
	stateWrote  = "wrote"

	commandLock  = "lock"
	commandWrite = "write"
)

// holder is a client that locks one path and looks at its hold until it is lost.
type holder struct {
	job      Job
	session  *zklock.Session
	path     string
	reporter *reporter
	op       *Op
	hold     *zklock.Hold
}

// holdAll locks all paths when told, reports that it has and, later, that all are
// lost, and tries a write behind each fence when told.
func (j Job) holdAll(r *reporter, commands <-chan string) error {
	var holders []*holder
	for _, path := range j.Hold {
		s, err := j.connect()
		if err != nil {
			return err
		}
		defer s.Close()
		time.Sleep(j.Spread / time.Duration(len(j.Hold)))
		holders = append(holders, &holder{job: j, session: s, path: path, reporter: r})
	}
	r.state(stateReady)
	for command := range commands {
		switch command {
		case commandLock:
			var watching sync.WaitGroup
			err := forAll(holders, func(h *holder) error {
				err := h.lock()
				if err == nil {
					watching.Go(h.watch)
				}
				return err
			})
			if err != nil {
				return err
			}
			r.state(stateLocked)
			go func() {
				watching.Wait()
				r.state(stateLost)
			}()
		case commandWrite:
			_ = forAll(holders, func(h *holder) error { h.write(); return nil })
			r.state(stateWrote)
		}
	}
	return nil
}

// forAll calls f for all holders at once.
func forAll(holders []*holder, f func(*holder) error) error {
	var all errgroup.Group
	for _, h := range holders {
		all.Go(func() error { return f(h) })
	}
	return all.Wait()
}

func (h *holder) lock() error {
	l, err := zklock.New(h.session, h.path)
	if err != nil {
		return err
	}
	h.op = h.reporter.invoke(Op{Process: h.job.Process, Path: h.path, Share: Exclusive, Asked: h.session.ID()})
	if h.hold, err = l.Acquire(context.Background()); err != nil {
		return err
	}
	h.op.got(h.hold, h.session)
	h.op.Token = h.hold.Token()
	h.reporter.report(h.op)
	return nil
}

func (h *holder) watch() {
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for h.op.look(h.hold) {
		select {
		case <-again.C:
		case <-h.hold.Lost():
		}
	}
	h.reporter.report(h.op)
}

// write tries to set the register beside the path, behind the fence of the hold.
func (h *holder) write() {
	u := Update{Register: registerOf(h.path), Process: h.job.Process, Token: h.hold.Token(), Wrote: 1}
	h.reporter.update(u, func() Outcome {
		for {
			// Without an answer, the next connection tells.
			if o := writeFenced(h.session.Conn(), h.hold, u); o != Unknown {
				return o
			}
		}
	})
}
