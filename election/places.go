package election

import (
	"maps"
	"sync"

	"github.com/zklock/zklock/internal/client"
)

// places are those that a session's observers look at. One that nobody looks at any more stays until the
// watch there has told of a change, for who comes back meanwhile.
type places struct {
	mu      sync.Mutex // guards the fields below; a place's mu is locked under it
	of      map[string]*place
	sweepAt int // how many there may be before those that are of no use are dropped
}

func newPlaces() *places { return &places{of: make(map[string]*place)} }

func placeOf(c *client.Client, path string) *place {
	all := client.Kept(c, newPlaces)
	all.mu.Lock()
	defer all.mu.Unlock()
	p := all.of[path]
	if p == nil {
		all.sweep()
		p = &place{client: c, path: path}
		all.of[path] = p
	}
	return p
}

// sweep drops the places that are of no use, once there are enough of them to make it worth while. Who
// looks at one at that moment goes on with it alone. all.mu is held.
func (all *places) sweep() {
	if len(all.of) < all.sweepAt {
		return
	}
	maps.DeleteFunc(all.of, func(_ string, p *place) bool { return p.isOver() })
	all.sweepAt = 2*len(all.of) + 16
}
