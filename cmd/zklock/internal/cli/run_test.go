package cli

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// As while the limits of the servers are being changed, one by one.
func TestACommandEndsInAQuarterOfTheShortestTimeoutOfItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		r, session := new(run), connect(t, server)
		require.Equal(t, 2500*time.Millisecond, r.killIn(session))
		for _, timeout := range []time.Duration{4 * time.Second, 8 * time.Second} {
			server.SetSessionTimeouts(timeout, timeout)
			server.Cut()
			for session.Timeout() != timeout {
				time.Sleep(time.Second)
			}
			require.Equal(t, time.Second, r.killIn(session))
		}
	})
}
