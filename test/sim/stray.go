package sim

import (
	"fmt"
	"slices"
	"time"
)

// stray is a session in which the library cannot tell whether it has left a node: the reply to a
// create was lost, and the list that was to show the node is refused. Such a node stays until its
// session lists the queue again, or ends.
type stray struct {
	machine *machine
	session string
}

// mostStrays bounds how many of them are waited for at once.
const mostStrays = 1000

// hasLeft takes what the library logs of a node that may be left.
func (m *machine) hasLeft(session string) {
	select {
	case m.world.strays <- stray{m, session}:
	default:
	}
}

// endStrays ends the sessions in which nodes may be left, as whoever reads the log does. It goes
// on for a moment after the last fault, when the last answers have come.
func (w *world) endStrays() {
	const last = time.Second
	over, end := w.over, (<-chan time.Time)(nil)
	for {
		select {
		case s := <-w.strays:
			if s.lives() && s.machine.close(false) {
				s.machine.open(s.machine.index)
			}
		case <-over:
			over, end = nil, time.After(last)
		case <-end:
			return
		case <-w.ctx.Done():
			return
		}
	}
}

// lives reports whether the session is still the machine's.
func (s stray) lives() bool {
	return slices.ContainsFunc(s.machine.ids(), func(id int64) bool { return fmt.Sprintf("%#x", uint64(id)) == s.session })
}
