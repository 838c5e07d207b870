package queue

import (
	"fmt"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// Some locks of other libraries do not wait for this one, though this one waits for them: both would be held
// when the other comes second. Who comes to such a queue tells the log, once for each path and kind of
// lock, or is refused where nothing helps.
const errNeverWaits = client.Final("it does not wait for this lock")

// peers looks for such locks among the children of the queue.
func (q *Queue) peers(names []string) error {
	if q.options.OneSided {
		return nil
	}
	for _, name := range names {
		p, ok := recipe.PeerOf(name, q.kind)
		if !ok {
			continue
		}
		node := recipe.Join(q.dir, name)
		if p.Never {
			return fmt.Errorf("%s is in use at %s: %s: %w", p.Lock, node, p.Cure, errNeverWaits)
		}
		q.session.warnOnce("zklock: another client in the queue may not wait for this lock", node, 0, p.Lock+" does not see its nodes: "+p.Cure)
	}
	return nil
}
