package client

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
)

func TestAnOutageIsToldWhenItHasLastedAndOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.link = nil
		c.timeout.Store(int64(16 * time.Second))
		c.id = 0xabc
		c.Failed(errors.New("nobody is there"))
		c.outage.begin(false)
		time.Sleep(4 * time.Second)
		c.outage.begin(false) // it goes on
		pass(12*time.Second - 1)
		require.Empty(t, b.all())
		pass(beat)
		require.Equal(t, []string{"WARN zklock: no connection session=0xabc lasted=16.25s cause=nobody is there"}, b.all())
		pass(time.Hour - beat + 1)
		require.Empty(t, b.all())

		l := &wire.Link{ID: 0xdef, Server: "zk1:2181"}
		c.outage.end(l)
		c.outage.end(l)
		synctest.Wait()
		require.Equal(t, []string{"INFO zklock: connected again session=0xdef server=zk1:2181 lasted=1h0m16s"}, b.all())

		for range 3 {
			c.outage.begin(false)
			time.Sleep(10 * time.Second)
			c.outage.end(l)
		}
		pass(time.Hour)
		require.Empty(t, b.all(), "short ones are not told, nor their ends")

		c.timeout.Store(int64(time.Second))
		c.outage.begin(false)
		pass(10*time.Second - 1)
		require.Empty(t, b.all(), "ten seconds at least")
		pass(beat)
		require.Len(t, b.all(), 1)
	})
}

func TestConnectTellsWhatItWaitsForAndNotThatItIsConnectedAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.link = nil
		c.Failed(errors.New("nobody is there"))
		c.outage.begin(true)
		pass(2*time.Second - 1)
		require.Empty(t, b.all())
		pass(beat)
		require.Equal(t, []string{"WARN zklock: no connection session=0x0 lasted=2.5s cause=nobody is there"}, b.all())
		pass(time.Hour)
		c.outage.end(&wire.Link{ID: 1})
		synctest.Wait()
		require.Empty(t, b.all(), "the session's beginning is told")
	})
}

func TestNothingIsToldOfAStopAsIfItHadBeenWaitedFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		_, v := c.LogStalls(t.Context(), "/lock")
		defer v.End()
		pass(4 * time.Second)
		c.Clock.Stall(19 * time.Second)
		pass(5 * time.Second)
		told := b.warnings()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "WARN zklock: this process did not run lasted=19s")
		pass(2 * time.Second)
		require.Equal(t, nowhere("/lock", "it waits for "), b.warnings())

		c.Failed(errors.New("nobody is there"))
		c.link = nil
		c.outage.begin(false)
		c.Clock.Stall(19 * time.Second)
		pass(9 * time.Second)
		require.Len(t, b.warnings(), 1, "of the stop")
		pass(2 * time.Second)
		told = b.warnings()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "no connection session=0x0 lasted=29.")
	})
}

func TestAnOutageLastsUntilAServerServes(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, b := stalling(t)
		c.link = nil
		c.dialer.Logins = make([]wire.Credential, 1)
		c.outage.begin(false)
		l := c.connectedTo(t, errors.New("hung up"))
		require.True(t, l == c.Current())
		pass(11 * time.Second)
		require.Empty(t, b.warnings(), "it may be about to log in")
		_, err := l.Read(make([]byte, 1))
		require.Error(t, err)
		pass(beat)
		told := b.warnings()
		require.Len(t, told, 1)
		require.Contains(t, told[0], "WARN zklock: no connection session=0x1 lasted=11.25s cause=hung up")
		c.outage.end(l)
		require.False(t, c.outage.since.IsZero(), "what is told of a connection that is down comes late")
	})
}
