package zklockprom

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// Error counts what a call of a lock returned, and returns it. The trace does not
// tell of calls that failed:
//
//	if err := metrics.Error(mu.LockContext(ctx)); err != nil {
//
// An error that is not of zklock is counted with the path "".
func (m *Metrics) Error(err error) error {
	if err == nil {
		return nil
	}
	var path, op string
	var failed *zklock.Error
	if errors.As(err, &failed) {
		path, op = failed.Path, failed.Op
	}
	m.errors.WithLabelValues(path, op, reason(err)).Inc()
	return err
}

// reasons are tried in turn: an error may match several.
var reasons = []struct {
	err  error
	name string
}{
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
	{zklock.ErrLocked, "locked"},
	{zklock.ErrLost, "lost"},
	{zklock.ErrClosed, "closed"},
	{zklock.ErrNotHeld, "misuse"},
	{zklock.ErrUpgrade, "misuse"},
	{zk.ErrNoAuth, "denied"},
	{zk.ErrAuthFailed, "denied"},
}

func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "other"
}
