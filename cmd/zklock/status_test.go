package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

// shown is a line of status --format json.
type shown struct {
	Path       string
	State      string
	Contenders []struct {
		Node, Kind, Session, Data, Host, Start, Command string
		PID                                             int
		OnRevoke                                        string    `json:"on_revoke"`
		HeldSince                                       time.Time `json:"held_since"`
		Held, Revoked                                   bool
		Token                                           int64
		Created                                         time.Time
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
	require.Equal(t, 0, at.run("--", "true").exit())
	free := at.zklock("status", at.path)
	require.Equal(t, []string{at.path + " is free."}, free.rest())

	holder := at.holder()
	node, stat := at.node()
	at.run("--shared", "--data", "say\x1b[2Jhi", "--", "cat")
	at.awaitQueue(2)

	table := at.zklock("status", at.path).rest()
	require.Len(t, table, 3)
	require.Equal(t, strings.Fields("STATE KIND WHO COMMAND REVOKE HELD SINCE TOKEN SESSION NODE"), strings.Fields(table[0]))
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`^holds  exclusive  %s pid %d +sh +ignores +(\d+s|-) +\d+s +%d +%#x +%s$`, regexp.QuoteMeta(host),
		holder.cmd.Process.Pid, stat.Czxid, uint64(stat.EphemeralOwner), path.Base(node)), table[1])
	require.Regexp(t, `^waits  read  +say\\x1b\[2Jhi +- +- +- +\d+s`, table[2], "what others wrote does not move the cursor")

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
	require.Equal(t, holder.cmd.Process.Pid, c.PID)
	require.WithinDuration(t, time.Now(), c.Created, time.Minute)
	require.False(t, s.Contenders[1].Held)
	require.Equal(t, "say\x1b[2Jhi", s.Contenders[1].Data)
}

// ZooKeeper tells since when a node is there, and it is there while it waits.
func TestStatusTellsSinceWhenTheLockIsHeldAndWhatRunsThere(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	first := at.holder()
	second := at.contender("--on-revoke", "term", "--shared")
	at.awaitQueue(2)
	let := time.Now().Truncate(time.Millisecond)
	first.stdin.Close()
	require.Equal(t, "in", second.line())
	eventually(t, "since when it is held", func() bool {
		c := parse(t, at.zklock("status", "--format", "json", at.path).rest()[0]).Contenders[0]
		return c.Held && !c.HeldSince.IsZero() && !c.HeldSince.Before(let) && !c.Created.After(let) && c.Command == "sh" && c.OnRevoke == "term"
	})
	require.Regexp(t, `^holds  read +\S+ pid \d+ +sh +heeds +\d+s +\d+s +\d+ `, at.zklock("status", at.path).rest()[1])
}

func TestTheExitCodeOfStatusIsTheAnswerIfThatIsAskedFor(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	code := func(args ...string) int {
		return at.zklock(append([]string{"status", "--exit-code"}, args...)...).exit()
	}
	require.Equal(t, 0, code(at.path), "it is missing")
	holder := at.holder()
	require.Equal(t, 1, code(at.path))
	require.Equal(t, 1, code("--format", "json", at.path))
	holder.stdin.Close()
	require.Equal(t, 0, holder.exit())
	require.Equal(t, 0, code(at.path))
	require.Equal(t, 2, code("/zklock-command"), "it is no lock")
	require.Equal(t, 2, code("--servers", "127.0.0.1:1", "--connect-timeout", "0.1", at.path), "no server answers")
	require.Equal(t, 64, code("--watch", at.path))
	require.Equal(t, 64, code("no path"))
}

func TestStatusSaysWhatAPathIsThatNobodyUsesAsALock(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	state := func(path string) (said, json string) {
		p := at.zklock("status", path)
		require.Equal(t, 0, p.exit())
		return p.rest()[0], parse(t, at.zklock("status", "--format", "json", path).rest()[0]).State
	}
	said, json := state(at.path)
	require.Contains(t, said, at.path+" does not exist: ")
	require.Equal(t, "missing", json)
	at.create(zk.WorldACL(zk.PermAll))
	said, json = state(at.path)
	require.Equal(t, at.path+" is free.", said)
	require.Equal(t, "free", json)
	said, json = state(path.Dir(at.path))
	require.Contains(t, said, path.Dir(at.path)+" is no lock: ")
	require.Equal(t, "no lock", json)
	require.Equal(t, 0, at.run("--limit", "2", "--", "true").exit())
	_, json = state(at.path)
	require.Equal(t, "free", json)
	node, err := at.conn.Create(at.path+"-member", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	said, json = state(node)
	require.Contains(t, said, node+" is no lock: ")
	require.Equal(t, "no lock", json, "it can have no children")
}

func TestLsListsTheLocksBelowAPath(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	none := at.zklock("ls", at.path)
	require.Equal(t, []string{"Nobody holds a lock at or below " + at.path + ", or waits for one."}, none.rest())
	require.Equal(t, 0, none.exit())
	top := at.path
	on := func(path string, flags ...string) *process {
		defer func() { at.path = top }()
		at.path = path
		return at.holder(flags...)
	}
	on(top)
	readers := []*process{on(top+"/a/b", "--shared"), on(top+"/a/b", "--shared")}
	on(top+"/limited", "--limit", "2", "--data", "say\x1b[2Jhi")
	for range 2 {
		at.contender()
	}
	at.awaitQueue(3 + 2) // with what is below it
	lines := at.zklock("ls", top).rest()
	require.Len(t, lines, 4)
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, strings.Fields("PATH KIND HOLDER WAITERS AGE"), strings.Fields(lines[0]))
	require.Regexp(t, `^`+top+` +exclusive +`+regexp.QuoteMeta(host)+` pid \d+ +2 +\d+s$`, lines[1])
	require.Regexp(t, fmt.Sprintf(`^%s/a/b +read +%s pid %d and 1 more +0 +\d+s$`, top, regexp.QuoteMeta(host), readers[0].cmd.Process.Pid), lines[2])
	require.Regexp(t, `^`+top+`/limited +permit +say\\x1b\[2Jhi +0 +\d+s$`, lines[3])

	var listed struct {
		Prefix string
		Locks  []struct {
			Path, Kind string
			Holders    []struct{ PID int }
			Waiters    int
			Age        float64 `json:"age_seconds"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(at.zklock("ls", "--format", "json", top+"/a").rest()[0]), &listed))
	require.Equal(t, top+"/a", listed.Prefix)
	require.Len(t, listed.Locks, 1)
	require.Equal(t, top+"/a/b", listed.Locks[0].Path)
	require.Len(t, listed.Locks[0].Holders, 2)
	require.Equal(t, readers[1].cmd.Process.Pid, listed.Locks[0].Holders[1].PID)
	require.Positive(t, listed.Locks[0].Age)
}

func TestLsWatchesTheLocksBelowAPath(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	w := at.zklock("ls", "--watch", "--format", "json", at.path)
	await := func(path, state string, waiters int) {
		t.Helper()
		for {
			var is struct {
				Path, State string
				Time        time.Time
				Waiters     int
			}
			require.NoError(t, json.Unmarshal([]byte(w.line()), &is))
			require.WithinDuration(t, time.Now(), is.Time, time.Minute)
			if is.Path == path && is.State == state && is.Waiters == waiters {
				return
			}
		}
	}
	top := at.path
	at.path = top + "/a/b"
	holder := at.holder()
	await(top+"/a/b", "held", 0)
	waiter := at.contender()
	await(top+"/a/b", "held", 1)
	holder.stdin.Close()
	await(top+"/a/b", "held", 0)
	people := at.zklock("ls", "--watch", top)
	require.Regexp(t, `^\d\d:\d\d:\d\d  `+top+`/a/b  held by .* pid \d+, 0 wait$`, people.line())
	require.NoError(t, waiter.cmd.Process.Signal(syscall.SIGTERM))
	await(top+"/a/b", "free", 0)
	require.Regexp(t, ` `+top+`/a/b  free$`, people.line())
	require.NoError(t, w.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, 130, w.exit())
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
	require.Contains(t, w.line(), at.path+" does not exist: ")
	reconnect(t, link)
	at.run("--", "cat")
	eventually(t, "the holder to be shown", func() bool { return strings.Contains(w.line(), "STATE") })
	require.Contains(t, w.line(), "holds")
}

func TestAWatchOnATerminalIsKeptInPlace(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	c := newConsole(at)
	c.enter("zklock status --watch $P")
	c.expect("\x1b[2J\x1b[H" + at.path + " as of ")
	c.expect(at.path + " does not exist: ")
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
