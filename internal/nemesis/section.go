package nemesis

import (
	"context"
	"time"

	"github.com/zklock/zklock"
)

// hold stays in a critical section, looking at its holds all the time and at work
// meanwhile, and then gives them back by release. The attempts are those of its
// holds; what work does behind the first one's fence is its own affair.
func (c *client) hold(attempts []*Attempt, holds []*zklock.Hold, release func() error, work ...func(*zklock.Hold)) error {
	for i, a := range attempts {
		a.got(holds[i], c.session)
		if len(work) > 0 || a.Share != Exclusive {
			a.Token = holds[i].Token()
		}
		c.report.report(a)
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for _, w := range work {
			w(holds[0])
		}
	}()
	c.stay(attempts, holds, worked)
	err := release()
	freed := Now()
	for i, a := range attempts {
		if holds[i].Err() != zklock.ErrLost {
			a.Freed = freed
		} else if a.Lost == 0 {
			a.Lost = freed
		}
		c.report.report(a)
	}
	return err
}

// stay looks at the holds until the section's time is over and the work is done.
func (c *client) stay(attempts []*Attempt, holds []*zklock.Hold, worked <-chan struct{}) {
	length := c.short(50 * time.Millisecond)
	if c.dice.IntN(20) == 0 {
		length = c.short(2 * c.job.Timeout)
	}
	again := time.NewTicker(glance)
	defer again.Stop()
	over := time.After(length)
	for over != nil || worked != nil {
		for i, a := range attempts {
			if a.Lost == 0 {
				a.look(holds[i])
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
