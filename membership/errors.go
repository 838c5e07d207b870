package membership

import (
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

// pause waits so long, or until the session is closed.
func pause(s *zklock.Session, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
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
