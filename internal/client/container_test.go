package client

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/wire"
)

// doubting is an observer that notes whether containers are in doubt when it is told that a
// connection is lost.
type doubting struct {
	nobody
	client  *Client
	doubted *[]bool
}

func (o doubting) Disconnected(*wire.Link) {
	*o.doubted = append(*o.doubted, o.client.DoubtsContainers())
}

// A proof whose answer is taken just then would resume a hold, which is suspended once more
// a moment later.
func TestContainersAreInDoubtUntilTheObserverKnowsThatTheConnectionIsLost(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	var doubted []bool
	c.Observe(doubting{client: c, doubted: &doubted})
	c.containers.asked = 1
	for range 2 {
		l := c.connectedTo(t, errors.New("hung up"))
		_, _ = l.Write(containerRequest())
		_, _ = l.Read(make([]byte, 1))
	}
	require.Equal(t, []bool{false, true}, doubted)
	require.True(t, c.containers.are(refused))
}
