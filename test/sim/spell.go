package sim

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
)

// spell is a time in which servers refuse requests.
type spell struct {
	of    string        // path to which they belong; "" of all
	by    string        // machine that makes them; "" any
	code  int           // of the errors
	tail  time.Duration // for which its consequences last at most
	until time.Time     // when it ended; zero while it goes on
	deaf  bool          // it keeps watches from being set, or from being heard of
}

// The codes of refusals, as ZooKeeper numbers them.
const (
	systemError = -1
	marshalling = -5
	noAuth      = -102
	overQuota   = -125
	throttled   = -127
)

// How long after a spell its consequences last.
const (
	// unheard is how long a change may go unheard of which the server has not told: all that is
	// watched is read once a minute.
	unheard = time.Minute + 2*time.Second
	// undeleted is how long a node stays whose delete was refused, or the list that shows it: the
	// pauses between the tries get as long as the spells have lasted.
	undeleted = 2 * faultTime
	// unasked is how long a request waits that was refused for now.
	unasked = 2 * time.Second
	// stale is for how long a server may go on to refuse what it was told to grant: it may lag.
	stale = faultTime / 2
)

// begin notes that a spell begins.
func (ck *checker) begin(s *spell) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	ck.spells = append(ck.spells, s)
}

// end notes that a spell is over.
func (ck *checker) end(s *spell) {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	s.until = time.Now()
}

// allows reports whether a request that belongs to the path, by that machine, may have met the
// spell since then.
func (s *spell) allows(path, machine string, since time.Time) bool {
	return (s.of == "" || within(s.of, path)) && (s.by == "" || s.by == machine) &&
		(s.until.IsZero() || !s.until.Add(stale).Before(since))
}

// bears reports whether c's machine, or its lock, is one that the spell is about.
func (s *spell) bears(c *claim) bool {
	return c.of != nil && s.allows(c.path, nameOf(c.of.spec.Machine), time.Time{})
}

// deafens reports whether c may not have heard yet of what has become of its node, since that was
// not told, or the watch was refused. ck.mu is held.
func (ck *checker) deafens(c *claim) bool {
	return ck.recoveryLocked(func(s *spell) bool { return s.deaf && s.bears(c) }) > 0
}

// left returns for how long the consequences of the spell may go on.
func (s *spell) left() time.Duration {
	if s.until.IsZero() {
		return s.tail
	}
	return max(0, time.Until(s.until.Add(s.tail)))
}

// recovery returns how long it may take until everything is as if no server had refused anything.
func (ck *checker) recovery() time.Duration {
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return ck.recoveryLocked(func(*spell) bool { return true })
}

func (ck *checker) recoveryLocked(which func(*spell) bool) (longest time.Duration) {
	for _, s := range ck.spells {
		if which(s) {
			longest = max(longest, s.left())
		}
	}
	return longest
}

// refusedInSpell reports whether err is what a server has answered in a spell: of c's lock, by c's
// machine, since c began. That it has erred, or has too much to do, is no reason for a call to fail.
func (c *call) refusedInSpell(err error) bool {
	code := codeOf(err)
	if code != noAuth && code != overQuota {
		return false
	}
	ck := c.world.checker
	ck.mu.Lock()
	defer ck.mu.Unlock()
	return slices.ContainsFunc(ck.spells, func(s *spell) bool {
		return s.code == code && slices.ContainsFunc(c.lock.all(), func(l *lock) bool {
			return s.allows(l.spec.Path, c.machine.name, c.since)
		})
	})
}

// unnamed is how go-zookeeper tells of a code that it has no name for.
var unnamed = regexp.MustCompile(`unknown error: (-\d+)`)

// codeOf returns the code of a server's answer, 0 if err is none.
func codeOf(err error) int {
	if errors.Is(err, zk.ErrNoAuth) {
		return noAuth
	}
	if err == nil {
		return 0
	}
	if m := unnamed.FindStringSubmatch(err.Error()); m != nil {
		code, _ := strconv.Atoi(m[1])
		return code
	}
	return 0
}
