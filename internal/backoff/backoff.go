// Package backoff says how long to wait before another try.
package backoff

import "time"

const (
	// First is the first pause that is one.
	First = 20 * time.Millisecond
	most  = time.Second
)

// Before returns how long to wait before that try: nothing at first, since most faults show as
// a lost connection, whose return is waited for.
func Before(try int) time.Duration {
	if try <= 0 {
		return 0
	}
	return min(First<<min(try-1, 10), most)
}
