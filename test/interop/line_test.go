package interop

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// line watches the requests of a fleet for contenders that pass others in the
// queue. A worker deletes its node when it has had the lock, so the nodes go in the
// order of their numbers, whatever the speed of the workers. Readers next to each
// other in the queue have the lock together, and go in any order.
type line struct {
	mu        sync.Mutex
	latest    int      // the highest number of a node that went
	exclusive int      // of one that was no reader's
	turns     int      // how many went
	passed    []string // who went after one that came later
	// gone are the nodes that went: a session deletes once more what a list shows that it
	// asked for before the delete.
	gone map[string]bool
}

var contender = regexp.MustCompile(`(-lock-|__lock__|__WRIT__|__READ__)(\d{10})$`)

func (l *line) note(op int32, frame []byte) {
	const path = 16 // behind the frame's length, the header and the path's length
	if op != faultproxy.OpDelete || len(frame) < path {
		return
	}
	name := frame[path : path+int(binary.BigEndian.Uint32(frame[path-4:]))]
	m := contender.FindSubmatch(name)
	if m == nil {
		return
	}
	number, _ := strconv.Atoi(string(m[2]))
	shared := string(m[1]) == "__READ__"
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone[string(name)] {
		return
	}
	if l.gone == nil {
		l.gone = make(map[string]bool)
	}
	l.gone[string(name)] = true
	l.turns++
	if number < l.exclusive || !shared && number < l.latest {
		l.passed = append(l.passed, fmt.Sprintf("%s after number %d", name, l.latest))
	}
	l.latest = max(l.latest, number)
	if !shared {
		l.exclusive = max(l.exclusive, number)
	}
}

// requireFair checks that nobody was passed in so many turns.
func (l *line) requireFair(t *testing.T, turns int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.GreaterOrEqual(t, l.turns, turns)
	require.Empty(t, l.passed, "who comes first is served first")
}

func TestALineSeesWhoPassesOthers(t *testing.T) {
	for name, c := range map[string]struct {
		went string
		fair bool
	}{
		"in order":                          {"-lock-0000000001 __lock__0000000002 -lock-0000000004", true},
		"out of order":                      {"-lock-0000000002 -lock-0000000001", false},
		"readers in any order":              {"__READ__0000000002 __READ__0000000001 __WRIT__0000000003", true},
		"a writer passes a reader":          {"__READ__0000000001 __WRIT__0000000003 __READ__0000000002", false},
		"a reader passes a writer":          {"__READ__0000000002 __WRIT__0000000001", false},
		"a writer reads on in its place":    {"__WRIT__0000000001 __READ__0000000002 __READ__0000000001", true},
		"permits have numbers of their own": {"-lock-0000000002 -lease-0000000001", true},
	} {
		t.Run(name, func(t *testing.T) {
			var l line
			for _, node := range regexp.MustCompile(`\S+`).FindAllString(c.went, -1) {
				path := "/lock/_c_x" + node
				frame := append(make([]byte, 12), binary.BigEndian.AppendUint32(nil, uint32(len(path)))...)
				l.note(faultproxy.OpDelete, append(frame, path...))
			}
			require.Equal(t, c.fair, len(l.passed) == 0, "%v", l.passed)
		})
	}
}
