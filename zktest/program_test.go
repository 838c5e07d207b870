package zktest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A night's work that takes an hour keeps the other process waiting for it, of
// which the test takes none.
func TestAProgramWithALockIsTestedInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.NewServer(t)
		connect := func() *zklock.Session {
			s, err := zklock.Connect(t.Context(), []string{srv.PipeAddr()}, 10*time.Second, zklock.WithDialer(srv.Dial))
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			return s
		}
		const night = time.Hour
		began := time.Now()
		var ended []time.Duration
		work := func(context.Context) error {
			time.Sleep(night)
			ended = append(ended, time.Since(began).Round(time.Minute))
			return nil
		}
		done := make(chan error, 2)
		for range cap(done) {
			s := connect()
			go func() { done <- nightly(t.Context(), s, work) }()
		}
		for range cap(done) {
			require.NoError(t, <-done)
		}
		require.Equal(t, []time.Duration{night, 2 * night}, ended)
	})
}
