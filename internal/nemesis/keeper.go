package nemesis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zklock/zklock"
)

// glance is how often a holder looks at its hold.
const glance = time.Millisecond

// What a keeper says, and is told.
const (
	stateReady  = "ready"
	stateLocked = "locked"
	stateLost   = "lost"
	stateWrote  = "wrote"

	commandLock  = "lock"
	commandWrite = "write"
)

// keeper locks one path and looks at its hold until it is lost.
type keeper struct {
	session *zklock.Session
	path    string
	attempt *Attempt
	hold    *zklock.Hold
}

// keep locks all paths when told, reports that it has and, later, that all are
// lost, and tries a write behind each fence when told.
func (j Job) keep(r *reporter, commands <-chan string) error {
	var keepers []*keeper
	for _, path := range j.Keep {
		s, err := j.connect()
		if err != nil {
			return err
		}
		defer s.Close()
		time.Sleep(j.Spread / time.Duration(len(j.Keep)))
		keepers = append(keepers, &keeper{session: s, path: path})
	}
	r.state(stateReady)
	for command := range commands {
		switch command {
		case commandLock:
			var watching sync.WaitGroup
			err := forAll(keepers, func(k *keeper) error {
				err := k.lock(j, r)
				if err == nil {
					watching.Go(func() { k.watch(r) })
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
			_ = forAll(keepers, func(k *keeper) error { k.write(j, r); return nil })
			r.state(stateWrote)
		}
	}
	return nil
}

// forAll calls f for all keepers at once.
func forAll(keepers []*keeper, f func(*keeper) error) error {
	errs := make([]error, len(keepers))
	var all sync.WaitGroup
	for i, k := range keepers {
		all.Go(func() { errs[i] = f(k) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (k *keeper) lock(j Job, r *reporter) error {
	l, err := zklock.New(k.session, k.path)
	if err != nil {
		return err
	}
	k.attempt = r.begin(Attempt{Process: j.Process, Path: k.path, Share: Exclusive, Asked: k.session.ID()})
	if k.hold, err = l.Acquire(context.Background()); err != nil {
		return err
	}
	k.attempt.got(k.hold, k.session)
	k.attempt.Token = k.hold.Token()
	r.report(k.attempt)
	return nil
}

func (k *keeper) watch(r *reporter) {
	again := time.NewTicker(glance)
	defer again.Stop()
	for k.attempt.look(k.hold) {
		select {
		case <-again.C:
		case <-k.hold.Lost():
		}
	}
	r.report(k.attempt)
}

// write tries to set the register beside the path, behind the fence of the hold.
func (k *keeper) write(j Job, r *reporter) {
	u := Update{Register: besides(k.path), Process: j.Process, Token: k.hold.Token(), Wrote: 1}
	r.update(u, func() Outcome {
		for {
			// Without an answer, the next connection tells.
			if o := writeFenced(k.session.Conn(), k.hold, u); o != Unknown {
				return o
			}
		}
	})
}

// besides names the register that the lock at path protects.
func besides(path string) string { return path + "-register" }
