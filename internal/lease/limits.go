package lease

import "time"

// What follows are limits of what is done beside the lease: parts of the session timeout, and of what
// the lease has left, 0 if there is nothing to be saved. They are a matter of availability.

// LeastDial is the least that a dial or a handshake gets: a session timeout of a second would
// leave no server the time to answer.
const LeastDial = 250 * time.Millisecond

// DialLimit returns how long a dial or a handshake has. A server that does not answer leaves time to
// find another one while the session lives. With each round of all servers in vain it is doubled, up
// to the session timeout: a server may be slow to tell that the session has expired. And however many
// servers do not answer, what the lease has left is enough for one that does.
func DialLimit(timeout, left time.Duration, rounds int64) time.Duration {
	limit := max(timeout/8<<min(rounds, 3), LeastDial)
	if left == 0 {
		return limit
	}
	return min(limit, max(left/3, min(left/2, LeastDial)))
}

// DialPause returns how long the pause between rounds of all servers may be that is usually so long.
func DialPause(usual, left time.Duration) time.Duration {
	if left == 0 {
		return usual
	}
	return min(usual, left/8)
}

// AnnounceLimit returns how long a server that serves nobody has to hang up on the beginning of a
// connect request.
func AnnounceLimit(timeout, left time.Duration) time.Duration { return min(timeout/64, left/16) }

// TryLimit returns how long a try may take that has no deadline.
func TryLimit(timeout time.Duration) time.Duration { return timeout / 3 }

// Pulse returns how often it is looked at whether the process runs, and what stop may have cost a hold.
func Pulse(timeout time.Duration) (every, costly time.Duration) { return timeout / 16, timeout / 4 }

// TooLate returns how much a lease has left when no server is in time any more.
func TooLate(timeout time.Duration) time.Duration { return timeout / 64 }
