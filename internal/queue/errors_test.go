package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
)

func TestALossSaysThatItIsOneAndWhy(t *testing.T) {
	cause := errors.New("zklock: the session has expired")
	err := &loss{cause}
	require.EqualError(t, err, "zklock: lock was lost: the session has expired")
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, cause)
}

// Only time that is up makes a wait fail because the lock is taken: who gives it up knows why.
func TestOnlyAWaitThatADeadlineEndedSaysThatTheLockIsTaken(t *testing.T) {
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	given, up := context.WithCancel(context.Background())
	up()
	for _, c := range []struct {
		ctx   context.Context
		err   error
		taken bool
	}{
		{late, client.Ended(late), true},
		{late, zk.ErrNoAuth, false},
		{given, client.Ended(given), false},
		{given, context.DeadlineExceeded, false},
		{context.Background(), nil, false},
	} {
		err := TimedOut(c.ctx, c.err)
		require.Equal(t, c.taken, errors.Is(err, ErrLocked), "%v", err)
		require.ErrorIs(t, err, c.err)
	}
}

func TestARefusalOfALockNodeSaysWhatToChange(t *testing.T) {
	q := &Queue{dir: "/locks/ledger", options: Options{ACL: zk.WorldACL(zk.PermRead)}}
	for _, c := range []struct {
		refused error
		advice  string
	}{
		{zk.ErrNoChildrenForEphemerals, "/locks/ledger or a node above it is an ephemeral node"},
		{zk.ErrNoAuth, "the ACL of /locks/ledger, or of a node above it, does not let this session create"},
		{fmt.Errorf("%w: %w", client.ErrShutOut, zk.ErrNoAuth), "the call's own ACL keeps its session out: an entry of scheme \"world\" lets nobody create; zk.AuthACL"},
		{zk.ErrInvalidACL, "the servers refuse the ACL"},
		{errors.New("unknown error: -125"), "the quota of /locks/ledger, or of a node above it, does not allow another lock node"},
	} {
		err := q.describe(c.refused)
		require.ErrorIs(t, err, c.refused)
		require.ErrorContains(t, err, c.advice)
		require.Equal(t, c.refused == zk.ErrNoAuth, strings.Contains(err.Error(), "does not let this session create"))
	}
	for _, err := range []error{nil, zk.ErrConnectionClosed, fmt.Errorf("a dialer's: %w", errors.ErrUnsupported)} {
		require.Equal(t, err, q.describe(err), "nothing is to be said of others")
	}
}

// A search that is to go on is not what the caller hears of.
func TestAnAnswerThatEndsASearchSaysThatItWasOne(t *testing.T) {
	err := describeSearch(zk.ErrNoAuth)
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, "looking for the node of a create whose reply was lost")
	require.Equal(t, zk.ErrConnectionClosed, describeSearch(zk.ErrConnectionClosed))
}
