package nemesis

import (
	"time"
	_ "unsafe" // for go:linkname
)

// Instant is a moment by the machine's monotonic clock, which all its processes
// share and which goes on while one of them is stopped. The zero value stands for
// a moment that has not come.
type Instant int64

// nanotime reads that clock. The time package does not show it: its monotonic
// readings count from the start of the process.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Now returns the moment of its call.
func Now() Instant { return Instant(nanotime()) }

// Add returns the moment d after i.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i - other) }

// Since returns the time from i to now.
func Since(i Instant) time.Duration { return Now().Sub(i) }
