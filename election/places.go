package election

import (
	"context"
	"maps"
	"sync"

	"github.com/zklock/zklock/internal/client"
)

// places are those that a session's observers look at. One that nobody looks at any more stays until the
// watch there has told of a change, for who comes back meanwhile.
type places struct {
	of      map[string]*place
	sweepAt int // how many there may be before those that are of no use are dropped
}

// ofClient has the places of each session that is open.
var ofClient struct {
	mu sync.Mutex // guards of, and all places in it; a place's mu is locked under it
	of map[*client.Client]*places
}

// placeOf returns the place of that path.
func placeOf(c *client.Client, path string) *place {
	ofClient.mu.Lock()
	defer ofClient.mu.Unlock()
	if ofClient.of == nil {
		ofClient.of = make(map[*client.Client]*places)
	}
	all := ofClient.of[c]
	if all == nil {
		all = &places{of: make(map[string]*place)}
		ofClient.of[c] = all
		context.AfterFunc(c.Context(), func() {
			ofClient.mu.Lock()
			defer ofClient.mu.Unlock()
			delete(ofClient.of, c)
		})
	}
	p := all.of[path]
	if p == nil {
		all.sweep()
		p = &place{client: c, path: path}
		all.of[path] = p
	}
	return p
}

// sweep drops the places that are of no use, once there are enough of them to make it worth while. Who
// looks at one at that moment goes on with it alone. ofClient.mu is held.
func (all *places) sweep() {
	if len(all.of) < all.sweepAt {
		return
	}
	maps.DeleteFunc(all.of, func(_ string, p *place) bool { return p.isOver() })
	all.sweepAt = 2*len(all.of) + 16
}
