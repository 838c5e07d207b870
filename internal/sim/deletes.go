package sim

import (
	"time"

	"github.com/zklock/zklock/zktest"
)

// excuses tells whether c was taken from its owner in a way that its lock cannot
// see coming. r.mu is held.
func (r *referee) excuses(c *claim) bool {
	if _, exists := r.tree[c.node]; exists || c.node == "" {
		return false
	}
	return !proofOfLife || c.told == nil || r.excused[c.node] != none
}

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
