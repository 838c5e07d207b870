package queue

// protected are the contenders that stand under the lease, in the order in which proofs check their
// nodes. The session's mutex guards it.
type protected struct {
	first, last *contender
	newest      *contender // that came last; nil when it has gone
	length      int
}

// among is a contender's place among the protected.
type among struct {
	before, after *contender
	is            bool
}

// inTurn is how many nodes a proof checks beside the newest: it is one small write, however much the
// session holds. That a node has gone is told by its watch. The turn finds what the watch has missed.
const inTurn = 64

// add puts c behind all others, unless it is there.
func (p *protected) add(c *contender) {
	if !c.among.is {
		p.link(c)
		p.newest = c
	}
}

// remove takes c out, if it is there.
func (p *protected) remove(c *contender) {
	if !c.among.is {
		return
	}
	p.unlink(c)
	if p.newest == c {
		p.newest = nil
	}
}

// checked takes that c's node was found: c's next turn is behind that of all others.
func (p *protected) checked(c *contender) {
	if c.among.is {
		p.unlink(c)
		p.link(c)
	}
}

// due returns those whose nodes the next proof checks, ahead of them another, unless it is nil.
func (p *protected) due(ahead *contender) (due []*contender) {
	if ahead != nil {
		due = append(due, ahead)
	}
	if p.newest != nil && p.newest != ahead {
		due = append(due, p.newest)
	}
	for c := p.first; c != nil && len(due) <= inTurn; c = c.among.after {
		if c != p.newest && c != ahead {
			due = append(due, c)
		}
	}
	return due
}

// all returns them as they stand now.
func (p *protected) all() (all []*contender) {
	for c := p.first; c != nil; c = c.among.after {
		all = append(all, c)
	}
	return all
}

func (p *protected) link(c *contender) {
	c.among = among{before: p.last, is: true}
	if p.last == nil {
		p.first = c
	} else {
		p.last.among.after = c
	}
	p.last = c
	p.length++
}

func (p *protected) unlink(c *contender) {
	before, after := c.among.before, c.among.after
	if before == nil {
		p.first = after
	} else {
		before.among.after = after
	}
	if after == nil {
		p.last = before
	} else {
		after.among.before = before
	}
	c.among = among{}
	p.length--
}
