package sim

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Stats counts what simulations did.
type Stats struct {
	Seeds, Grants, Losses atomic.Int64
	Calls                 [TryAcquire + 1]atomic.Int64
	Faults                [faultKinds]atomic.Int64
}

func (s *Stats) String() string {
	var b strings.Builder
	calls, faults := int64(0), int64(0)
	for take := range s.Calls {
		calls += s.Calls[take].Load()
	}
	for kind := range s.Faults {
		faults += s.Faults[kind].Load()
	}
	fmt.Fprintf(&b, "%d attempts to lock, %d grants, %d losses, %d faults:\n", calls, s.Grants.Load(), s.Losses.Load(), faults)
	for kind := range faultKinds {
		fmt.Fprintf(&b, "%9d %v\n", s.Faults[kind].Load(), kind)
	}
	return b.String()
}
