package zklock

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// hangUp is a server that reads so much of what it is asked and closes the connection.
func hangUp(request int64) net.Conn {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		_, _ = io.CopyN(io.Discard, theirs, request)
	}()
	return ours
}

func TestConnectRequestsWithoutAnAnswerAreForgottenInTime(t *testing.T) {
	const connectRequest = 49
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		away := false
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second,
			WithDialer(func(network, addr string, timeout time.Duration) (net.Conn, error) {
				if away {
					return hangUp(connectRequest), nil
				}
				return server.Dial(network, addr, timeout)
			}))
		require.NoError(t, err)
		defer s.Close()
		away = true
		server.Cut()
		unanswered := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.unanswered)
		}
		time.Sleep(time.Hour)
		most := unanswered()
		require.NotZero(t, most)
		time.Sleep(100 * time.Hour)
		require.LessOrEqual(t, unanswered(), 2*most)
	})
}
