package client

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
)

// The server may end a session while the answer that has made it is under way.
func TestTheEndOfASessionThatNobodyWasToldOfIsNotTold(t *testing.T) {
	var expired []int64
	tr := tracer{Trace: Trace{Expired: func(e Event) { expired = append(expired, e.Session) }}, told: new(sync.WaitGroup)}
	tr.connect(&wire.Link{ID: 1})
	tr.disconnect(zk.ErrConnectionClosed)
	tr.expire(1)
	tr.expire(2)
	tr.connect(&wire.Link{ID: 3})
	tr.expire(3)
	tr.told.Wait()
	require.Equal(t, []int64{1, 3}, expired)
}

// history is what a Trace was told, by times since the beginning.
type history struct {
	began time.Time
	told  []any
}

func (h *history) trace() Trace {
	note := func(what string) func(Event) {
		return func(e Event) {
			h.told = append(h.told, happened{what, e.Session, e.Server, e.Connection, e.Since.Sub(h.began), e.Time.Sub(h.began), e.Err})
		}
	}
	return Trace{Connected: note("connected"), Disconnected: note("disconnected"), Expired: note("expired")}
}

type happened struct {
	what       string
	session    int64
	server     string
	connection int
	from, to   time.Duration
	err        error
}

func TestATraceTellsOfEachConnectionAndSessionFromWhenItLastedAndWhyItEnded(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		h, why := &history{began: time.Now()}, errors.New("why")
		tr := tracer{Trace: h.trace(), told: new(sync.WaitGroup), disconnected: time.Now()}
		at := func(do func()) {
			time.Sleep(time.Second)
			do()
			tr.told.Wait()
		}
		at(func() { tr.connect(&wire.Link{ID: 1, Server: "a"}) })
		at(func() { tr.disconnect(why) })
		at(func() { tr.disconnect(why) })
		at(func() { tr.connect(&wire.Link{ID: 1, Server: "b"}) })
		at(func() { tr.connect(&wire.Link{ID: 1, Server: "c"}) })
		at(func() { tr.expire(1) })
		at(func() { tr.connect(&wire.Link{ID: 2, Server: "d"}) })
		at(func() { tr.expire(1) })
		at(func() { tr.expire(2) })
		at(func() { tr.close()() })
		at(func() {
			tr.connect(&wire.Link{ID: 3})
			tr.close()()
			tr.disconnect(why)
			tr.expire(3)
		})
		const s = time.Second
		require.Equal(t, []any{
			happened{"connected", 1, "a", 1, 0, 1 * s, nil},
			happened{"disconnected", 1, "a", 1, 1 * s, 2 * s, why},
			happened{"connected", 1, "b", 2, 2 * s, 4 * s, nil},
			happened{"disconnected", 1, "b", 2, 4 * s, 5 * s, errReplaced},
			happened{"connected", 1, "c", 3, 5 * s, 5 * s, nil},
			happened{"expired", 1, "", 3, 1 * s, 6 * s, ErrSessionOver},
			happened{"disconnected", 1, "c", 3, 5 * s, 7 * s, errReplaced},
			happened{"connected", 2, "d", 4, 7 * s, 7 * s, nil},
			happened{"expired", 2, "", 4, 7 * s, 9 * s, ErrSessionOver},
			happened{"disconnected", 2, "d", 4, 7 * s, 10 * s, ErrClosed},
		}, h.told)
	})
}

func TestTheEndOfATraceHasNothingToTellWithoutAConnectionOrAListener(t *testing.T) {
	h := new(history)
	tr := tracer{Trace: h.trace(), told: new(sync.WaitGroup)}
	tr.close()()
	require.Empty(t, h.told)
	deaf := tracer{told: new(sync.WaitGroup)}
	deaf.connect(&wire.Link{ID: 1})
	deaf.expire(1)
	deaf.close()()
	deaf.close()()
	deaf.told.Wait()
	require.True(t, deaf.closed)
}
