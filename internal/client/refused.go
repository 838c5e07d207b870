package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// refusals are the answers with which a server says that the same request will not fare better
// next time.
var refusals = []error{
	zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals,
	zk.ErrBadArguments, zk.ErrAPIError, zk.ErrInvalidPath, zk.ErrShortBuffer,
}

// unnamed is how go-zookeeper reports an error code that it has no name for.
const unnamed = "unknown error: "

// meanings are those of the codes that a user may meet and that say nothing as numbers.
var meanings = map[string]string{
	"-120": "the servers keep this session local, and let it make no ephemeral nodes: set localSessionsUpgradingEnabled",
	"-124": "the servers demand credentials that this session does not have",
}

// withMeaning adds to a refusal what its code means.
func withMeaning(err error) error {
	if code, ok := unnamedCode(err); ok && meanings[code] != "" {
		return fmt.Errorf("%w (%s)", err, meanings[code])
	}
	return err
}

// mishaps are the codes of a server that has erred: a system error, inconsistencies, a lost
// connection, a failure at the request's bytes or anywhere on its way, a timeout. They say nothing
// of whether the request was executed.
var mishaps = []string{"-1", "-2", "-3", "-4", "-5", "-7"}

// throttled is the code of a server that is too busy. It has not executed the request.
const throttled = "-127"

// Mishap reports whether a server has erred, so that it cannot be told what became of the request.
func Mishap(err error) bool {
	code, ok := unnamedCode(err)
	return ok && slices.Contains(mishaps, code) || err == wire.ErrMalformed
}

// Refused reports whether a request was refused for good. Any other error leaves hope: the
// connection or the session broke, which go-zookeeper also reports as raw network errors, or
// it was busy or has erred. The end of a ctx is no refusal, whatever its cause.
func Refused(err error) bool {
	if LooksEnded(err) {
		return false
	}
	if slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) {
		return true
	}
	code, ok := unnamedCode(err)
	return ok && code != throttled && !slices.Contains(mishaps, code)
}

// OverQuota adds to err, if a server has refused a write below that path for its quota, that it has,
// and what was to be written.
func OverQuota(err error, path, what string) error {
	if code, ok := unnamedCode(err); ok && code == "-125" {
		return fmt.Errorf("the quota of %s, or of a node above it, does not allow %s there: %w", path, what, err)
	}
	return err
}

// unnamedCode returns the code in an error that go-zookeeper has no name for, or a wire.Code, which
// says the same.
func unnamedCode(err error) (code string, ok bool) {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	if err == nil {
		return "", false
	}
	return strings.CutPrefix(err.Error(), unnamed)
}
