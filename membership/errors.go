package membership

import (
	"context"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

func wrap(op, path string, err error) error {
	if _, known := err.(*zklock.Error); known || err == nil {
		return err
	}
	return &zklock.Error{Op: op, Path: path, Err: err}
}

// ended returns why ctx is over, with its cause where that says more. The cause may be
// any error, as one of a server: it is for callers of the package alone.
func ended(ctx context.Context) error { return client.Ended(ctx) }

// pause waits so long, or until ctx ends or the session is closed.
func pause(ctx context.Context, s *zklock.Session, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.Closed():
	}
}

func isClosed(s *zklock.Session) bool {
	select {
	case <-s.Closed():
		return true
	default:
		return false
	}
}
