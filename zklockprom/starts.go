package zklockprom

import (
	"sync"
	"time"
)

// starts remembers, by node, when what has not ended began. A wait that is given
// up is never reported as ended: so the oldest are forgotten when there are many.
type starts struct {
	mu         sync.Mutex
	young, old map[string][]time.Time
}

// generation is how many nodes are remembered before the older ones are forgotten.
const generation = 10000

func (s *starts) begin(node string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || len(s.young) >= generation {
		s.old, s.young = s.young, make(map[string][]time.Time)
	}
	s.young[node] = append(s.young[node], at)
}

// end returns when the first of what began at the node did, and forgets it.
func (s *starts) end(node string) (at time.Time, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range []map[string][]time.Time{s.old, s.young} {
		switch began := of[node]; len(began) {
		case 0:
			continue
		case 1:
			delete(of, node)
			return began[0], true
		default:
			of[node] = began[1:]
			return began[0], true
		}
	}
	return time.Time{}, false
}
