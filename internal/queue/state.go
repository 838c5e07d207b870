package queue

import "slices"

// state is how far a contender's life has come. The session's mutex guards it.
type state int

const (
	creating  state = iota // its create is under way
	abandoned              // likewise, and its call has ended: it leaves as soon as it has its nodes
	waiting                // it has its nodes
	holding                // it has the lock, for an owner or for one to come
	ended                  // it was lost, or closed with its session: see cause
	lingering              // its hold has ended, and its nodes stay for the rest of the queue's minimum or grace
	leaving                // its nodes are being deleted
)

// transitions are the states that may follow each. What the create has come to may be known
// only when the contender has ended: it stays so, and leaves.
var transitions = [...][]state{
	creating:  {abandoned, waiting, ended, leaving},
	abandoned: {ended, leaving},
	waiting:   {holding, ended, leaving},
	holding:   {ended, lingering, leaving},
	ended:     {lingering, leaving},
	lingering: {leaving},
	leaving:   {},
}

// stays reports whether Drain waits for a contender in that state.
func (st state) stays() bool { return st == holding || st == lingering }

// become changes the state, and reports whether it may. The session's mu is held.
func (c *contender) become(next state) bool {
	if !slices.Contains(transitions[c.state], next) {
		return false
	}
	was := c.state
	c.state = next
	switch s := c.queue.session; {
	case !was.stays() && next.stays():
		s.staying++
	case was.stays() && !next.stays():
		s.staying--
		s.checkDrained()
	}
	return true
}
