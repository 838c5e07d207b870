package client

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/wire"
)

// frames is what is known of how long a request may be: a server with a lower jute.maxbuffer hangs up
// on one that is longer, without a word. That a long one had no answer may be chance, as when a server
// is killed: it counts for little until it has been so several times, one soon after the other.
type frames struct {
	mu      sync.Mutex // guards the fields below; the log's is locked under it
	taken   int        // bytes of the longest request that was answered
	refused int        // of the shortest that servers have hung up on, longer than that; 0 if there is none
	times   int        // how often they have
	last    time.Time
}

const (
	// shortestLong is what every server takes.
	shortestLong = 1 << 10
	// noChance is how often servers hang up before a request of that length is refused here.
	noChance = 3
	// apart is how far hang-ups are from each other that count: a server that restarts, or a way to it
	// that fails, ends connections one soon after the other.
	apart = time.Second / 2
	// shrinks is by what batches get smaller.
	shrinks = 4
)

// ended takes what has become of the requests over a connection.
func (f *frames) ended(l *wire.Link, hungUp bool, log *Journal) {
	taken, unanswered := l.Longest()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = max(f.taken, taken)
	if f.taken >= f.refused || f.times < noChance && time.Since(f.last) > trust {
		f.refused, f.times = 0, 0
	}
	switch {
	case !hungUp || unanswered < shortestLong:
		return
	case unanswered <= f.taken: // of servers each has a limit of its own: the next time counts
		f.taken = 0
		return
	case f.refused == 0 || unanswered < f.refused:
		f.refused = unanswered
	}
	if f.times > 0 && time.Since(f.last) < apart {
		return
	}
	f.times++
	f.last = time.Now()
	if f.times == 2 {
		log.Warn("zklock: servers hang up on long requests, sending shorter ones", "server", l.Name(),
			"cause", fmt.Errorf("a request of %d bytes was not answered, which may be more than its jute.maxbuffer", unanswered))
	}
}

// batch returns how long the paths in one request may be.
func (f *frames) batch() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused == 0 {
		return maxBatch
	}
	return min(maxBatch, f.refused/shrinks)
}

// Fits returns an error if servers keep hanging up on a request of that size, which cannot be split.
// Once in a while one is tried all the same.
func (c *Client) Fits(size int) error {
	f := &c.frames
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times < noChance || size < f.refused || time.Since(f.last) > trust {
		return nil
	}
	return fmt.Errorf("the servers hang up on a request of %d bytes, and this one has %d: their jute.maxbuffer is below that, ZooKeeper's own is %d: %w",
		f.refused, size, MaxFrame, zk.ErrShortBuffer)
}

// hungUp reports whether it was the server that ended the connection: we have not, and it was
// not silent.
func hungUp(cause error) bool {
	var late net.Error
	return !errors.Is(cause, net.ErrClosed) && !IsStale(cause) && !(errors.As(cause, &late) && late.Timeout())
}
