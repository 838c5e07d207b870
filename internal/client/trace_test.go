package client

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
)

// The server may end a session while the answer that has made it is under way.
func TestTheEndOfASessionThatNobodyWasToldOfIsNotTold(t *testing.T) {
	var expired []int64
	tr := tracer{Trace: Trace{Expired: func(e Event) { expired = append(expired, e.Session) }}}
	tr.connect(&wire.Link{ID: 1})
	tr.disconnect(zk.ErrConnectionClosed)
	tr.expire(1)
	tr.expire(2)
	tr.connect(&wire.Link{ID: 3})
	tr.expire(3)
	tr.work.Wait()
	require.Equal(t, []int64{1, 3}, expired)
}
