package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
)

// What a process of clients says, and is told.
const (
	stateIdle   = "idle" // all holds are released
	commandStop = "stop"
)

// roundLength is how long the processes use a set of paths before they go on to
// the next. It keeps the history of a path short enough to be searched.
const roundLength = 15 * time.Second

// client is a goroutine that takes locks and gives them back.
type client struct {
	job      Job
	number   int
	rng      *rand.Rand
	session  *zklock.Session
	lockers  *sync.Map // path to the *zklock.Locker that the clients of the process share
	reporter *reporter
}

// runClients takes locks of all kinds in one session until told to stop, and closes
// it at the end of the commands.
func (j Job) runClients(r *reporter, commands <-chan string) error {
	s, err := j.connect()
	if err != nil {
		return err
	}
	r.state(stateReady)
	var stop atomic.Bool
	var clients sync.WaitGroup
	lockers := new(sync.Map)
	failed := make(chan error, len(workloads))
	for i, w := range workloads {
		c := &client{
			job: j, number: i, session: s, lockers: lockers, reporter: r,
			rng: rand.New(rand.NewPCG(j.Seed, uint64(j.Process)<<8|uint64(i))),
		}
		clients.Go(func() {
			for !stop.Load() {
				if err := c.once(w); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	select {
	case err := <-failed:
		return err
	case _, told := <-commands:
		if !told {
			return errors.New("the run has ended without a word")
		}
	}
	stop.Store(true)
	clients.Wait()
	r.state(stateIdle)
	for range commands {
	}
	return s.Close()
}

// once runs a workload, and fails if that did otherwise than by not getting the lock,
// or by losing it.
func (c *client) once(w workload) error {
	time.Sleep(c.short(20 * time.Millisecond))
	err := w(c)
	if err == nil || errors.Is(err, zklock.ErrLocked) || errors.Is(err, zklock.ErrLost) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("client %d: %w", c.number, err)
}

// soakRoot is the node that has all of a soak's below it.
const soakRoot = "/soak"

// path returns the path of that name in the round of this moment.
func (c *client) path(name string) string {
	return fmt.Sprintf("%s/%d/%s", soakRoot, int(Since(c.job.Began)/roundLength), name)
}

// short draws a time, most often a short one, below limit.
func (c *client) short(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * c.rng.Float64() * c.rng.Float64() * c.rng.Float64())
}

// patience draws how long a call may take.
func (c *client) patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 10*time.Millisecond+c.short(4*c.job.Timeout))
}

func (c *client) invoke(path string, share Share) *Op {
	return c.reporter.invoke(Op{Process: c.job.Process, Client: c.number, Path: path, Share: share})
}

// fail notes that a call has returned without the lock, and returns why.
func (c *client) fail(err error, ops ...*Op) error {
	for _, o := range ops {
		o.Failed = Now()
		c.reporter.report(o)
	}
	return err
}

// options are those of the process's locks: every kind stands in the same queues.
func (j Job) options() []zklock.Option {
	handoff, retention := zklock.WithHandoff(4), zklock.WithRetention(j.Timeout/10)
	return [][]zklock.Option{{}, {handoff}, {retention}, {handoff, retention}}[j.Process%4]
}

// locker returns the Locker of a path.
func (c *client) locker(path string) (*zklock.Locker, error) {
	l, err := zklock.New(c.session, path, c.job.options()...)
	if err != nil {
		return nil, err
	}
	shared, _ := c.lockers.LoadOrStore(path, l)
	return shared.(*zklock.Locker), nil
}

// hold stays in a critical section, looking at its holds all the time and at work
// meanwhile, and then gives them back by release. The ops are those of its
// holds; what work does behind the first one's fence is its own affair.
func (c *client) hold(ops []*Op, holds []*zklock.Hold, release func() error, work ...func(*zklock.Hold)) error {
	for i, o := range ops {
		o.got(holds[i], c.session)
		if len(work) > 0 || o.Share != Exclusive {
			o.Token = holds[i].Token()
		}
		c.reporter.report(o)
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for _, w := range work {
			w(holds[0])
		}
	}()
	c.stay(ops, holds, worked)
	err := release()
	freed := Now()
	for i, o := range ops {
		if !errors.Is(holds[i].Err(), zklock.ErrLost) {
			o.Freed = freed
		} else if o.Lost == 0 {
			o.Lost = freed
		}
		c.reporter.report(o)
	}
	return err
}

// stay looks at the holds until the section's time is over and the work is done.
func (c *client) stay(ops []*Op, holds []*zklock.Hold, worked <-chan struct{}) {
	length := c.short(50 * time.Millisecond)
	if c.rng.IntN(20) == 0 {
		length = c.short(2 * c.job.Timeout)
	}
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	over := time.After(length)
	for over != nil || worked != nil {
		for i, o := range ops {
			if o.Lost == 0 {
				o.look(holds[i])
			}
		}
		select {
		case <-again.C:
		case <-over:
			over = nil
		case <-worked:
			worked = nil
		}
	}
}

// confirmed releases with confirmation. A release whose answer is late goes on by
// itself.
func (c *client) confirmed(release func(context.Context) error) error {
	ctx, cancel := c.patience()
	defer cancel()
	return release(ctx)
}
