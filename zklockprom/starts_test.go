package zklockprom

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitsThatWereGivenUpAreForgottenInTheEnd(t *testing.T) {
	var s starts
	for i := range 10 * generation {
		s.begin(fmt.Sprint(i), time.Now())
	}
	require.LessOrEqual(t, len(s.young)+len(s.old), 2*generation)
	_, known := s.end(fmt.Sprint(10*generation - 1))
	require.True(t, known)
	_, known = s.end("0")
	require.False(t, known)
}

func TestHoldsThatShareANodeEndInTheirOrder(t *testing.T) {
	var s starts
	first := time.Now()
	s.begin("node", first)
	s.begin("node", first.Add(time.Second))
	at, known := s.end("node")
	require.True(t, known)
	require.Equal(t, first, at)
	at, known = s.end("node")
	require.True(t, known)
	require.Equal(t, first.Add(time.Second), at)
	_, known = s.end("node")
	require.False(t, known)
}
