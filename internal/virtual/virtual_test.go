package virtual

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func waitForever(c chan int) { <-c }

func TestWhatIsLeftBehindIsToldByWhereItWaits(t *testing.T) {
	stuck := Try(t, func(*testing.T) {
		c := make(chan int)
		for range 2 {
			go waitForever(c)
		}
	})
	require.Contains(t, stuck, "main bubble goroutine has exited")
	require.Regexp(t, `\n   2 x chan receive: virtual\.waitForever virtual_test\.go:\d+ < `, stuck)
}

func TestWhatWaitsForEachOtherIsTold(t *testing.T) {
	stuck := Try(t, func(*testing.T) { waitForever(make(chan int)) })
	require.Contains(t, stuck, "all goroutines in bubble are blocked")
	require.Regexp(t, `\n   1 x chan receive: virtual\.waitForever virtual_test\.go:\d+ < virtual\.TestWhatWaitsForEachOtherIsTold\.func1 virtual_test\.go:\d+`, stuck)
}

func TestABubbleThatEndsSaysNothing(t *testing.T) {
	require.Empty(t, Try(t, func(*testing.T) { time.Sleep(time.Hour) }))
}
