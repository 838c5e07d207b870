package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheFirstAnswerWaitsUntilTheWatchesAreAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		until func(e *early, down chan struct{})
		want  time.Duration
	}{
		"asked for":              {func(e *early, _ chan struct{}) { e.asked() }, time.Millisecond},
		"the connection is down": {func(_ *early, down chan struct{}) { close(down) }, time.Millisecond},
		"never asked for":        {func(*early, chan struct{}) {}, longestWait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, down, begun := newEarly(time.Hour), make(chan struct{}), time.Now()
				go func() {
					time.Sleep(time.Millisecond)
					c.until(e, down)
				}()
				e.wait(down)
				require.Equal(t, c.want, time.Since(begun))
				begun = time.Now()
				e.wait(down)
				require.Zero(t, time.Since(begun), "later ones do not wait")
			})
		})
	}
	require.Equal(t, time.Second/4, newEarly(time.Second).limit, "a proof's answer is to be in time")
	var none *early
	none.asked()
	none.wait(nil)
}
