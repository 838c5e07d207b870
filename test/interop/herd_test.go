package interop

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

const herdSessions = 8

// herd has as many readers as there are sections, in eight sessions, hold the lock
// at the same time.
func (w *worker) herd() (func(int) error, error) {
	var lockers []*zklock.RWLocker
	for range herdSessions {
		s, err := zklock.Connect(context.Background(), []string{w.server}, sessionTimeout)
		if err != nil {
			return nil, err
		}
		l, err := zklock.NewRW(s, w.path)
		if err != nil {
			return nil, err
		}
		lockers = append(lockers, l)
	}
	return func(int) error {
		var together, ended sync.WaitGroup
		together.Add(w.sections)
		for i := range w.sections {
			ended.Go(func() {
				l := lockers[i%len(lockers)]
				l.RLock()
				together.Done()
				together.Wait()
				l.RUnlock()
			})
		}
		ended.Wait()
		fmt.Println("did", w.sections)
		return nil
	}, nil
}

// traffic counts what clients ask of a server.
type traffic struct {
	mu  sync.Mutex
	ops map[int32]int
}

func (c *traffic) note(op int32, _ []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops[op]++
}

// take returns the requests for nodes since the last call.
func (c *traffic) take() (t tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t = tally{
		lists:  c.ops[faultproxy.OpGetChildren] + c.ops[faultproxy.OpGetChildren2],
		reads:  c.ops[faultproxy.OpGetData] + c.ops[faultproxy.OpExists],
		writes: c.ops[faultproxy.OpCreate] + c.ops[faultproxy.OpCreate2] + c.ops[faultproxy.OpDelete],
	}
	c.ops = make(map[int32]int)
	return t
}

type tally struct{ lists, reads, writes, watches int }

func (t tally) String() string {
	return fmt.Sprintf("%d lists, %d reads, %d creates and deletes, %d watches left", t.lists, t.reads, t.writes, t.watches)
}

// Readers behind a writer get in together when it goes, and ask little of the
// server then.
func TestTwoHundredReadersBehindAWriterGetInTogether(t *testing.T) {
	const readers = 200
	enter, leave := herdOf(t, ours, readers)
	t.Logf("zklock, to queue:   %v", enter)
	t.Logf("zklock, to get in:  %v", leave)
	require.LessOrEqual(t, enter.lists, readers+readers/2)
	require.LessOrEqual(t, leave.lists, readers/2, "that the writer ahead is gone is all that they need to know")
	require.LessOrEqual(t, enter.watches, 2*readers+2, "on the writer, one for each session, and each on its own node")

	enter, leave = herdOf(t, curator, readers)
	t.Logf("Curator, to queue:  %v", enter)
	t.Logf("Curator, to get in: %v", leave)
}

// herdOf returns what readers asked of the server until all of them waited behind
// a writer, and from the writer's release to their own.
func herdOf(t *testing.T, language func(*testing.T) []string, readers int) (enter, leave tally) {
	t.Helper()
	f := newFleet(t)
	s, err := zklock.Connect(t.Context(), []string{f.server.Addr()}, sessionTimeout)
	require.NoError(t, err)
	defer s.Close()
	writer, err := zklock.NewRW(s, "/lock")
	require.NoError(t, err)
	writer.Lock()

	count := traffic{ops: make(map[int32]int)}
	proxy := faultproxy.Run(t, f.server.Addr())
	proxy.OnRequest(count.note)
	f.addr = proxy.Addr()
	f.add(1, language, "herd", readers)
	f.begin()
	require.Eventually(t, func() bool {
		names, _, err := s.Conn().Children("/lock")
		return err == nil && len(names) == readers+1
	}, patience, 10*time.Millisecond)
	watches, steady := 0, 0
	require.Eventually(t, func() bool {
		now := watchCount(t, f.server)
		if now != watches {
			watches, steady = now, 0
		}
		steady++
		return steady > 20 && watches > 0
	}, patience, 50*time.Millisecond, "all wait when no more watches are set")
	enter = count.take()
	writer.Unlock()
	f.wait()
	leave = count.take()
	enter.watches = watches
	return enter, leave
}

// watchCount returns how many watches the server keeps.
func watchCount(t *testing.T, server *apachezk.Server) int {
	t.Helper()
	answer, err := server.FourLetter("mntr")
	require.NoError(t, err)
	n := -1
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "zk_watch_count\t"); ok {
			_, err = fmt.Sscan(value, &n)
			require.NoError(t, err)
		}
	}
	return n
}
