package zklock

import (
	"context"
	"testing"

	"github.com/zklock/zklock/internal/client"
)

func TestTheTimeGivenToATryIsToldApartFromItsCtxs(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	given, cancel := context.WithTimeoutCause(t.Context(), 0, errTimeIsUp)
	defer cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		isUp bool
	}{
		"the time given":                           {t.Context(), client.Ended(given), true},
		"the time given, and ctx ends meanwhile":   {canceled, client.Ended(given), true},
		"ctx is cancelled by a deadline elsewhere": {canceled, context.DeadlineExceeded, false},
		"ctx's own deadline":                       {expired, context.DeadlineExceeded, false},
		"ctx is cancelled":                         {canceled, context.Canceled, false},
		"the lock is taken":                        {t.Context(), ErrLocked, true},
		"the lock is taken, and ctx is cancelled":  {canceled, ErrLocked, false},
	} {
		if got := timeIsUp(c.ctx, c.err); got != c.isUp {
			t.Errorf("%s: %v", name, got)
		}
	}
}
