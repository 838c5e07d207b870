package client

import (
	"fmt"
	"time"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
)

// How often the pulse beats, at least and at most.
const (
	shortestPulse = 50 * time.Millisecond
	longestPulse  = time.Second
)

// tellStop tells of a stop of the process that may have cost a hold.
func (c *Client) tellStop(stopped time.Duration) {
	if _, costly := lease.Pulse(c.Timeout()); stopped >= costly {
		c.Log.Warn("zklock: this process did not run", "lasted", stopped)
	}
}

// TooLate adds to err why no server's answer has come in time since then: for most of it this
// process or this machine did not run, or no server serves the session.
func (c *Client) TooLate(err error, since clock.Instant) error {
	now := c.Clock.Now()
	stopped, slept := c.Pulse.Stopped(since), now.Most(since)-now.Least(since)
	switch most := now.Most(since) / 2; {
	case stopped >= most:
		return fmt.Errorf("%w (this process did not run for %v)", err, stopped.Round(time.Millisecond))
	case slept >= most:
		return fmt.Errorf("%w (this machine slept for %v, or its clock was set forward)", err, slept.Round(time.Millisecond))
	}
	return c.Unserved(err)
}
