package membership

import (
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

func wrap(op, path string, err error) error {
	var known *zklock.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &zklock.Error{Op: op, Path: path, Err: err}
}

// refusals are the answers with which a server says that the same request will
// not fare better next time.
var refusals = []error{
	zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals,
	zk.ErrBadArguments, zk.ErrAPIError, zk.ErrInvalidPath,
}

// unnamed is how go-zookeeper reports an error code that it has no name for.
const unnamed = "unknown error: "

// refused tells whether the server has refused a request for good. Any other error
// leaves hope: the connection or the session broke, or the server was busy.
func refused(err error) bool {
	for _, refusal := range refusals {
		if errors.Is(err, refusal) {
			return true
		}
	}
	if err == nil {
		return false
	}
	code, ok := strings.CutPrefix(err.Error(), unnamed)
	// Connection loss, operation timeout and throttling have no names.
	return ok && code != "-4" && code != "-7" && code != "-127"
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
