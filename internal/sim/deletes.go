package sim

import (
	"time"

	"github.com/zklock/zklock/zktest"
)

// excuses tells whether c was taken from its owner in a way that its lock cannot
// see coming. r.mu is held.
func (r *referee) excuses(c *claim) bool {
	if !proofOfLife || c.told == nil {
		return r.tree[c.node] == nil && c.node != ""
	}
	if c.units == 0 {
		return r.excused[c.node] != none && r.tree[c.node] == nil
	}
	for path, why := range r.excused { // a permit each, named after the same contender
		if why != none && r.tree[path] == nil && contenderOf(path) == contenderOf(c.node) {
			return true
		}
	}
	return false
}

// contenderOf returns the path of a node without its sequence.
func contenderOf(path string) string { return path[:max(0, len(path)-sequenceDigits)] }

// judgeDelete checks what becomes of a node that somebody holds a lock by.
func (r *referee) judgeDelete(txn zktest.Txn, change zktest.Change) {
	for c := range r.claims {
		if c.node == change.Path && c.told != nil {
			time.AfterFunc(c.patience(), func() { r.judgeBelief(c) })
		}
	}
	if r.excused[change.Path] != none {
		return
	}
	if r.doomed[txn.Session] && change.Cause == zktest.CauseExpiry {
		r.excused[change.Path] = bySession
		return
	}
	for c := range r.claims {
		switch {
		case c.node != change.Path || c.told == nil || !c.believed():
		case change.Cause != zktest.CauseExpiry:
			r.failLocked("P1", "session %#x deleted %s while %s holds %s by it", txn.Session, base(change.Path), c.who, c.path)
		case proofOfLife:
			r.failLocked("P2", "the session of %s ended while it believes to hold %s by %s", c.who, c.path, base(change.Path))
		}
	}
}

// judgeBelief checks that c's owner was told of the end of its node.
func (r *referee) judgeBelief(c *claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, held := r.claims[c]; held && c.believed() {
		r.failLocked("P2", "%s believes to hold %s %v after its node went", c.who, c.path, c.patience())
	}
}

// excuse announces that a fault deletes a node.
func (r *referee) excuse(path string, why excuse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excused[path] = why
}

// doom announces that a fault ends a session before its time.
func (r *referee) doom(session int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doomed[session] = true
}

// doomAll announces that a fault may end any of the sessions before its time.
func (r *referee) doomAll(sessions []zktest.Session) {
	for _, s := range sessions {
		r.doom(s.ID)
	}
}
