package wire

import (
	"errors"
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// behind is for servers that have lost their data: a backup was restored, a container had no volume.
// They hang up on a connect request that names a later transaction than their own last one, before
// they look at the session. When servers have hung up for long, each is asked once with none named. One
// that says that the session has expired is believed, wherever its data are from. One that says
// that it lives may lag, and show the past: that connection is not used, and the session is none the
// worse for it.
//
// Only the goroutine of go-zookeeper's handshakes uses it.
type behind struct {
	since   clock.Instant // the first hang-up since an answer, or the last request of this kind; zero: none
	asks    int           // requests of this kind that are to go out
	granted time.Duration // by a server that has said that the session lives
}

// behindTimeouts is how long servers have to hang up, in session timeouts, and again after they
// were asked: they may have the session from a backup, and it has to expire meanwhile.
const behindTimeouts = 2

// hungUp takes that a server has left a connect request unanswered.
func (b *behind) hungUp(now clock.Instant) {
	if b.since.IsZero() {
		b.since = now
	}
}

// due reports whether the connect request that goes out now is to name no transaction.
func (b *behind) due(now clock.Instant, timeout time.Duration, servers int) bool {
	if !b.since.IsZero() && now.Least(b.since) >= behindTimeouts*max(timeout, b.granted) {
		b.asks = servers
	}
	if b.asks == 0 {
		return false
	}
	b.since = now
	b.asks--
	return true
}

// doubt is whether the server of a connection may have lost its data, or lag.
type doubt int

const (
	trusted doubt = iota
	asked         // the connect request named no transaction
	lagging       // likewise, and the server says that the session lives: it is not used
)

// lives takes that the session does, for as long again as a server grants that was asked so.
func (b *behind) lives(granted time.Duration) { b.asks, b.granted = 0, granted }

// answered takes any other answer.
func (b *behind) answered() { *b = behind{} }

// errBehind is why a connection is not used over which the session might see the past.
var errBehind = errors.New("the server may lag behind what the session has seen")
