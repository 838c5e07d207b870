package client

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zklock/zklock/internal/wire"
)

func TestAnOutageIsToldWhenItHasLastedAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		c.timeout.Store(int64(16 * time.Second))
		c.id = 0xabc
		(*connections)(c).Failed(errors.New("nobody is there"))
		c.outage.begin(false)
		time.Sleep(4 * time.Second)
		c.outage.begin(false) // it goes on
		pass(12*time.Second - 1)
		require.Empty(t, b.all())
		pass(time.Nanosecond)
		require.Equal(t, []string{"WARN zklock: no connection session=0xabc lasted=16s cause=nobody is there"}, b.all())
		pass(time.Hour)
		require.Empty(t, b.all())

		l := &wire.Link{ID: 0xdef, Server: "zk1:2181"}
		c.outage.end(l)
		c.outage.end(l)
		synctest.Wait()
		require.Equal(t, []string{"INFO zklock: connected again session=0xdef server=zk1:2181 lasted=1h0m16s"}, b.all())

		c.outage.begin(false)
		time.Sleep(10 * time.Second)
		c.outage.end(l)
		pass(time.Hour)
		require.Empty(t, b.all(), "a short one is not told, nor its end")
		c.outage.tell() // by a timer that has fired just before
		for range 2 {
			c.outage.begin(false)
			time.Sleep(9 * time.Second)
			c.outage.end(l)
		}
		synctest.Wait()
		require.Empty(t, b.all(), "nor are two")

		c.timeout.Store(int64(time.Second))
		c.outage.begin(false)
		pass(10 * time.Second)
		require.Equal(t, []string{"WARN zklock: no connection session=0xabc lasted=10s cause=nobody is there"}, b.all(), "ten seconds at least")
	})
}

func TestConnectTellsWhatItWaitsForAndNotThatItIsConnectedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		(*connections)(c).Failed(errors.New("nobody is there"))
		c.outage.begin(true)
		pass(2*time.Second - 1)
		require.Empty(t, b.all())
		pass(time.Nanosecond)
		require.Equal(t, []string{"WARN zklock: no connection session=0x0 lasted=2s cause=nobody is there"}, b.all())
		pass(time.Hour)
		c.outage.end(&wire.Link{ID: 1})
		synctest.Wait()
		require.Empty(t, b.all(), "the session's beginning is told")
	})
}

// The timers that a stop makes late are early by the time that the process has run.
func TestNothingIsToldOfAStopAsIfItHadBeenWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		c.Pulse.Start()
		defer c.Pulse.Stop()
		(*connections)(c).Failed(errors.New("nobody is there"))
		c.outage.begin(false)
		_, v := c.WatchOver(t.Context(), "/lock")
		defer v.End()
		pass(4 * time.Second)
		c.Clock.Stall(19 * time.Second)
		require.True(t, c.outage.timer.Stop())
		c.outage.tell() // in its place
		c.stalls.find()
		synctest.Wait()
		told := b.warnings()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "WARN zklock: this process did not run lasted=18.")
		pass(7 * time.Second)
		told = b.warnings()
		require.Len(t, told, 2)
		require.Contains(t, told[0]+told[1], "no connection session=0x0 lasted=28.")
		require.Contains(t, told[0]+told[1], "a call for a lock gets nowhere")
	})
}

func TestAnOutageLastsUntilAServerServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		c.dialer.Logins = make([]wire.Credential, 1)
		c.outage.begin(false)
		l := c.connectedTo(t, errors.New("hung up"))
		require.True(t, l == c.Current())
		time.Sleep(11*time.Second - 1)
		_, err := l.Read(make([]byte, 1))
		require.Error(t, err)
		synctest.Wait()
		require.Empty(t, b.warnings(), "it may be about to log in")
		pass(time.Nanosecond)
		require.Equal(t, []string{"WARN zklock: no connection session=0x1 lasted=11s cause=hung up"}, b.warnings())
		c.outage.end(l)
		require.False(t, c.outage.since.IsZero(), "what is told of a connection that is down comes late")
	})
}

func TestNoOutageIsToldOfAClosedSession(t *testing.T) {
	for name, late := range map[string]bool{"that has one": false, "that would have one": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := new(book)
				c := unconnected(t, slog.New(b))
				if late {
					c.outage.stop()
				}
				c.outage.begin(false)
				time.Sleep(time.Second)
				c.outage.stop()
				if late {
					require.Nil(t, c.outage.timer)
				} else {
					require.False(t, c.outage.timer.Stop(), "it is stopped")
					c.outage.tell() // as a timer that has just fired
				}
				pass(time.Hour)
				require.Empty(t, b.all())
			})
		})
	}
}
