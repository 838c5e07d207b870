package membership

import (
	"context"
	"errors"
	"time"

	"github.com/zklock/zklock"
)

func wrap(op, path string, err error) error {
	var known *zklock.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &zklock.Error{Op: op, Path: path, Err: err}
}

const (
	firstPause = 20 * time.Millisecond
	maxPause   = time.Second
)

// pauseAfter returns how long to wait after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	return min(firstPause<<min(failures-1, 10), maxPause)
}

// pause waits so long, or until ctx ends or the session is closed.
func pause(ctx context.Context, s *zklock.Session, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.Done():
	}
}

func isClosed(s *zklock.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}
