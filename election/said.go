package election

import (
	"time"

	"github.com/zklock/zklock/internal/owner"
)

// candidacy is what a node says that waits: of its process what any lock's node does, so that zklock
// status shows it, and what has become of the candidate.
func candidacy() []byte {
	o := owner.Ourselves()
	o.Election = owner.Candidate
	return []byte(o.String())
}

// leadership is what it says since it leads.
func leadership(since time.Time, value []byte) []byte {
	o := owner.Ourselves()
	o.Election, o.HeldSince, o.Value = owner.Leads, since, value
	return []byte(o.String())
}
