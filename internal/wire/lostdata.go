package wire

import (
	"errors"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// lostData is for servers that have lost their data: a backup was restored, a container had no volume.
// They hang up on a connect request that names a later transaction than their own last one, before
// they look at the session. When servers have hung up for long, each is asked once with none named. One
// that says that the session has expired is believed, wherever its data are from. One that says
// that it lives may lag, and show the past: that connection is not used, and the session is none the
// worse for it.
//
// Only the goroutine of go-zookeeper's handshakes uses it.
type lostData struct {
	since   clock.Instant // the first hang-up since an answer, or the last request of this kind; zero: none
	asks    int           // requests of this kind that are to go out
	granted time.Duration // by a server that has said that the session lives
}

// lostDataTimeouts is how long servers have to hang up, in session timeouts, and again after they
// were asked: they may have the session from a backup, and it has to expire meanwhile.
const lostDataTimeouts = 2

// hungUp takes that a server has left a connect request unanswered.
func (d *lostData) hungUp(now clock.Instant) {
	if d.since.IsZero() {
		d.since = now
	}
}

// due reports whether the connect request that goes out now is to name no transaction.
func (d *lostData) due(now clock.Instant, timeout time.Duration, servers int) bool {
	if !d.since.IsZero() && now.Least(d.since) >= lostDataTimeouts*max(timeout, d.granted) {
		d.asks = servers
	}
	if d.asks == 0 {
		return false
	}
	d.since = now
	d.asks--
	return true
}

// trust is whether the server of a connection may have lost its data, or lag.
type trust int

const (
	trusted trust = iota
	asked         // the connect request named no transaction
	lagging       // likewise, and the server says that the session lives: it is not used
)

// lives takes that the session does, for as long again as a server grants that was asked so.
func (d *lostData) lives(granted time.Duration) { d.asks, d.granted = 0, granted }

// answered takes any other answer.
func (d *lostData) answered() { *d = lostData{} }

// errLagging is why a connection is not used over which the session might see the past.
var errLagging = errors.New("the server may lag behind what the session has seen")
