package zklockprom

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// denied is the reason that an alert looks at.
const denied = "denied"

// reasons are tried in turn: an error may match several.
var reasons = []struct {
	err  error
	name string
}{
	{zklock.ErrLost, "lost"}, // also what a MultiLocker starts over for
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
	{zklock.ErrLocked, "locked"},
	{zklock.ErrClosed, "closed"},
	{zk.ErrNoAuth, denied},
	{zk.ErrAuthFailed, denied},
}

// reason names err in few words, so that it makes few time series.
func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "other"
}
