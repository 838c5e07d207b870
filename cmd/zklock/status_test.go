package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// shown is a line of status --format json.
type shown struct {
	Path       string
	Contenders []struct {
		Node, Kind, Session, Data, Host, PID, Start string
		Held, Revoked                               bool
		Token                                       int64
		Created                                     time.Time
	}
}

func parse(t *testing.T, line string) shown {
	t.Helper()
	var s shown
	require.NoError(t, json.Unmarshal([]byte(line), &s), line)
	return s
}

func TestStatusSaysWhoHoldsTheLockAndWhoWaits(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	free := at.zklock("status", at.path)
	require.Equal(t, []string{at.path + " is free."}, free.rest())

	holder := at.holder()
	node, stat := at.node()
	at.run("--shared", "--data", "say\x1b[2Jhi", "--", "cat")
	at.awaitQueue(2)

	table := at.zklock("status", at.path).rest()
	require.Len(t, table, 3)
	require.Equal(t, strings.Fields("STATE KIND WHO SINCE TOKEN SESSION NODE"), strings.Fields(table[0]))
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`^holds  exclusive  %s pid %d +\d+s +%d +%#x +%s$`, regexp.QuoteMeta(host),
		holder.cmd.Process.Pid, stat.Czxid, uint64(stat.EphemeralOwner), path.Base(node)), table[1])
	require.Regexp(t, `^waits  read  +say\\x1b\[2Jhi +\d+s`, table[2], "what others wrote does not move the cursor")

	lines := at.zklock("status", "--format", "json", at.path).rest()
	require.Len(t, lines, 1)
	s := parse(t, lines[0])
	require.Equal(t, at.path, s.Path)
	require.Len(t, s.Contenders, 2)
	c := s.Contenders[0]
	require.Equal(t, node, c.Node)
	require.True(t, c.Held)
	require.Equal(t, "exclusive", c.Kind)
	require.Equal(t, stat.Czxid, c.Token)
	require.Equal(t, host, c.Host)
	require.Equal(t, fmt.Sprint(holder.cmd.Process.Pid), c.PID)
	require.WithinDuration(t, time.Now(), c.Created, time.Minute)
	require.False(t, s.Contenders[1].Held)
	require.Equal(t, "say\x1b[2Jhi", s.Contenders[1].Data)
}

func TestStatusShowsTheHoldersOfALimit(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for range 2 {
		at.holder("--limit", "2")
	}
	at.run("--limit", "2", "--", "cat")
	eventually(t, "the third", func() bool {
		s := parse(t, at.zklock("status", "--format", "json", at.path).rest()[0])
		if len(s.Contenders) != 3 {
			return false
		}
		require.True(t, s.Contenders[0].Held)
		require.True(t, s.Contenders[1].Held)
		require.Equal(t, "permit", s.Contenders[0].Kind)
		require.False(t, s.Contenders[2].Held)
		return true
	})
}

func TestAWatchShowsEachChange(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	w := at.zklock("status", "--watch", "--format", "json", at.path)
	await := func(held, waiting int) shown {
		for {
			s := parse(t, w.line())
			h := 0
			for _, c := range s.Contenders {
				if c.Held {
					h++
				}
			}
			if h == held && len(s.Contenders) == held+waiting {
				return s
			}
		}
	}
	await(0, 0)
	holder := at.run("--", "cat")
	await(1, 0)
	waiter := at.run("--", "cat")
	second := await(1, 1).Contenders[1]
	holder.stdin.Close()
	require.Equal(t, second.Node, await(1, 0).Contenders[0].Node)
	waiter.stdin.Close()
	await(0, 0)
	w.signal(interrupt)
	require.Equal(t, 130, w.exit())
	require.Empty(t, w.stderr.String(), "that is how it is meant to end")
}

func TestAWatchOutlivesItsSession(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	w := at.zklock("status", "--watch", "--servers", link.Addr(), at.path)
	require.Equal(t, at.path+" is free.", w.line())
	reconnect(t, link)
	at.run("--", "cat")
	require.Empty(t, w.line())
	require.Contains(t, w.line(), "STATE")
	require.Contains(t, w.line(), "holds")
}

func TestAWatchOnATerminalIsKeptInPlace(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	c := newConsole(at)
	c.enter("zklock status --watch $P")
	c.expect("\x1b[2J\x1b[H" + at.path + " as of ")
	c.expect(at.path + " is free.\x1b[K")
	holder := at.run("--", "cat")
	c.expect("\x1b[H" + at.path)
	c.expect("holds  exclusive")
	c.expect("\x1b[J")
	at.run("--", "cat")
	c.expect("holds  exclusive")
	c.expect("waits  exclusive")
	c.expect(" 1s ") // the times go on by themselves
	holder.stdin.Close()
	require.Equal(t, 0, holder.exit())
	c.expect("holds  exclusive")
	c.resize(4, 14)
	c.expect("holds  exclusi\x1b[K")
	c.resize(3, 14)
	c.expect("... and 2 more\x1b[K")
	c.resize(24, 100)
	c.expect("holds  exclusive")
	c.key(ctrlC)
	c.expect(prompt)
	said := c.said.String()
	require.Equal(t, 1, strings.Count(said, "\x1b[2J"), "it is drawn over, not anew")
	require.Equal(t, strings.Count(said, "\x1b[?7l"), strings.Count(said, "\x1b[?7h"), "lines are wrapped again")
}
