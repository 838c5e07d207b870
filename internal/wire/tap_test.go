package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsAreSeenInTheOrderInWhichTheyWereExpected(t *testing.T) {
	var ts Taps
	lock, path := Request{OpCreate, "/lock"}, []byte("/lock")
	first, second, third := ts.Add(lock, nil), ts.Add(lock, nil), ts.Add(lock, nil)
	other := ts.Add(Request{OpDelete, "/lock"}, nil)

	require.Nil(t, ts.take(OpCreate, []byte("/other")))
	require.Same(t, first, ts.take(OpCreate, path))
	ts.Drop(first) // which ends when it has been seen
	ts.Drop(second)
	require.Same(t, third, ts.take(OpCreate, path))
	require.Nil(t, ts.take(OpCreate, path))
	require.Same(t, other, ts.take(OpDelete, path))
	require.Empty(t, ts.waiting, "what nobody waits for takes no memory")
}

func TestATapTellsWhichConnectionCarriedItsRequestAndWhatTheAnswerWas(t *testing.T) {
	tap, l := new(Tap), new(Link)
	carrier, replied, _ := tap.Fate()
	require.Nil(t, carrier)
	require.False(t, replied)
	tap.written(l)
	carrier, replied, _ = tap.Fate()
	require.Same(t, l, carrier)
	require.False(t, replied)
	tap.reply(41)
	carrier, replied, zxid := tap.Fate()
	require.Same(t, l, carrier)
	require.True(t, replied)
	require.EqualValues(t, 41, zxid)
}
