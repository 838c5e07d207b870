package main_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// elect starts zklock elect on the site's path, as run does zklock run.
func (at *site) elect(args ...string) *process {
	at.t.Helper()
	args = at.runArgs(args...)
	args[0] = "elect"
	return at.zklock(args...)
}

// leads says which process it is, and leads until the end of its input.
const leads = `echo "leads $$"; read x; exit 3`

// elected is a candidate that leads; pid is its command's.
func (at *site) elected(args ...string) (p *process, pid int) {
	at.t.Helper()
	p = at.elect(append(args, "--", "sh", "-c", leads)...)
	return p, p.pid()
}

// candidate is one that waits, the last of so many in line.
func (at *site) candidate(line int, args ...string) *process {
	at.t.Helper()
	p := at.elect(append(args, "--", "sh", "-c", leads)...)
	at.awaitQueue(line)
	return p
}

// leader returns what zklock leader says.
func (at *site) leader(args ...string) string {
	at.t.Helper()
	p := at.zklock(append([]string{"leader", at.path}, args...)...)
	said := strings.Join(p.rest(), "\n")
	require.Equal(at.t, 0, p.exit(), p.stderr)
	return said
}

func TestOneOfTheCandidatesRunsItsCommandAndTheNextOneWhenThatHasEnded(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	require.Equal(t, "nobody leads "+at.path, at.leader())
	first, _ := at.elected("--value", "10.0.0.7:8080")
	second := at.candidate(2, "--value", "10.0.0.8:8080")
	second.mute(func() {
		eventually(t, "the leader to be seen", func() bool { return at.leader("--format", "value") == "10.0.0.7:8080" })
		require.Contains(t, at.leader(), fmt.Sprintf(" pid %d leads %s since 2", first.cmd.Process.Pid, at.path))
	})
	table := strings.Join(at.zklock("status", at.path).rest(), "\n")
	require.Regexp(t, fmt.Sprintf(`holds  exclusive  \S+ pid %d +sh +heeds +\d`, first.cmd.Process.Pid), table)
	require.Regexp(t, fmt.Sprintf(`waits  exclusive  \S+ pid %d +sh +heeds +-`, second.cmd.Process.Pid), table)
	first.stdin.Close()
	require.Equal(t, 3, first.exit(), "the command's")
	second.pid()
	eventually(t, "the next leader to be seen", func() bool { return at.leader("--format", "value") == "10.0.0.8:8080" })
	require.Empty(t, first.stderr.String()+second.stderr.String())
}

func TestTheCommandOfALeaderFindsTheLeadershipInItsEnvironment(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.elect("--", "sh", "-c", `printf '%s\n' "$ZKLOCK_PATH" "$ZKLOCK_NODE" "$ZKLOCK_TOKEN"; read x`)
	require.Equal(t, at.path, p.line())
	node, stat := at.node()
	require.Equal(t, node, p.line())
	require.Equal(t, fmt.Sprint(stat.Czxid), p.line())
}

func TestALostLeadershipEndsTheCommandWhichRunsAgainWhenItLeadsAgain(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p, pid := at.elected()
	at.killSession()
	require.NotEqual(t, pid, p.pid(), "another term")
	require.False(t, alive(pid))
	second := at.candidate(2)
	node := at.nodeOf(p)
	require.Equal(t, 0, at.zklock("break", at.path, "--node", node, "--yes").exit())
	second.pid()
	at.awaitQueue(2) // the first one is a candidate again
	second.stdin.Close()
	require.Equal(t, 3, second.exit())
	p.pid()
	p.stdin.Close()
	require.Equal(t, 3, p.exit())
}

// nodeOf returns the node of a candidate.
func (at *site) nodeOf(p *process) string {
	at.t.Helper()
	line := at.zklock("status", "--format", "json", at.path).rest()[0]
	for _, c := range parse(at.t, line).Contenders {
		if strings.Contains(c.Data, fmt.Sprintf(" pid=%d ", p.cmd.Process.Pid)) {
			return c.Node
		}
	}
	require.Fail(at.t, "no such candidate", line)
	return ""
}

// Its lease ends when no server answers; the servers have its session for longer.
func TestTheCommandOfALeaderThatIsCutOffIsGoneBeforeAnotherLeads(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	link := faultproxy.Run(t, at.addr)
	p := at.elect(append([]string{"--servers", link.Addr(), "--session-timeout", "6s"}, as("announce")...)...)
	pid := p.pid()
	second := at.candidate(2)
	second.mute(func() {
		link.Drop(faultproxy.Both)
		require.Equal(t, "SIGTERM", p.line())
		eventually(t, "the command to be killed, which is deaf", func() bool { return !alive(pid) })
		require.Len(t, at.queue(), 2, "the server still has the session")
	})
	second.pid()
	link.Thaw(faultproxy.Both)
	at.awaitQueue(2)
	second.stdin.Close()
	require.NotEqual(t, pid, p.pid(), "it leads again, after all that")
}

func TestALeaderThatIsAskedToLetsAnotherLead(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.elect("--", "sh", "-c", `trap 'echo asked; read x; exit 1' TERM; echo "leads $$"; read x; read x`)
	p.pid()
	second := at.candidate(2)
	asking := at.zklock("revoke", "--wait", "1h", at.path)
	asking.line()
	second.mute(func() { require.Equal(t, "asked", p.line()) })
	p.say("done")
	require.Equal(t, 0, asking.exit())
	second.pid()
	at.awaitQueue(2)
	p.mute(func() { require.Contains(t, p.stderr.String(), "somebody asks for the lock back") })
	second.stdin.Close()
	p.pid()
}

func TestALeaderThatPausesIsNoCandidateMeanwhile(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p, pid := at.elected("--pause", "1h")
	require.Equal(t, 0, at.zklock("revoke", at.path).exit())
	eventually(t, "the command to end", func() bool { return !alive(pid) })
	at.awaitQueue(0)
	p.mute(func() {
		second, _ := at.elected()
		second.stdin.Close()
		require.Equal(t, 3, second.exit())
	})
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit())
	require.Contains(t, p.stderr.String(), "interrupted by SIGTERM")
}

func TestASignalToEndEndsTheCommandAndTheCandidacy(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.elect("--restart", "always", "--", "sh", "-c", `trap 'echo again' HUP; trap 'echo ending; exit 5' TERM; echo in; while :; do read x; done`)
	require.Equal(t, "in", p.line())
	waits := at.candidate(2)
	waits.signal(syscall.SIGHUP)
	require.Equal(t, 128+1, waits.exit(), "there is no command that it could be for")
	require.Contains(t, waits.stderr.String(), "interrupted by SIGHUP")
	at.awaitQueue(1)
	p.signal(syscall.SIGHUP)
	require.Equal(t, "again", p.line(), "it is the command's")
	at.killSession()
	require.Equal(t, "ending", p.line())
	require.Equal(t, "in", p.line(), "and the candidacy goes on")
	p.signal(syscall.SIGTERM)
	require.Equal(t, "ending", p.line())
	require.Equal(t, 5, p.exit())
	require.Empty(t, at.queue())
}

// inMemory is a path on a server that does as the test says.
func inMemory(t *testing.T) (*site, *zktest.Server) {
	server := zktest.NewServer(t)
	conn, _, err := zk.Connect([]string{server.Addr()}, 20*time.Second, zk.WithLogger(quiet{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &site{t: t, addr: server.Addr(), path: "/p", conn: conn}, server
}

func TestASignalToEndThatComesAfterTheGrantKeepsTheCommandFromBeingStarted(t *testing.T) {
	t.Parallel()
	at, server := inMemory(t)
	reading := server.HoldRequest(zktest.OpGetData) // that --acl lets us read the node
	p := at.elect("--acl", "world:anyone:cdrwa", "--", "sh", "-c", leads)
	<-reading.Struck()
	p.signal(syscall.SIGTERM)
	require.Equal(t, 128+15, p.exit(), p.stderr)
	require.Empty(t, p.rest())
	require.Contains(t, p.stderr.String(), "interrupted by SIGTERM")
}

func TestALeaderWhomTheServersDoNotLetSayThatItLeadsLeadsNoMore(t *testing.T) {
	t.Parallel()
	at, server := inMemory(t)
	saying := server.HoldRequest(zktest.OpSetData)
	p := at.elect(append([]string{"--restart", "always", "--kill-after", "100ms"}, as("announce")...)...)
	pid := p.pid()
	<-saying.Struck()
	node, _ := at.node()
	_, err := at.conn.SetACL(node, zk.WorldACL(zk.PermRead), -1)
	require.NoError(t, err)
	p.mute(saying.Release)
	require.Equal(t, "SIGTERM", p.line())
	require.Equal(t, 77, p.exit(), p.stderr)
	require.False(t, alive(pid))
	require.Contains(t, p.stderr.String(), "the servers refuse to show others that we lead")
	require.NotContains(t, p.stderr.String(), "context canceled")
	require.Empty(t, at.queue())
}

// Its node stays, and it would wait behind that.
func TestACandidateThatMayNotGiveTheLeadershipUpSaysSoInsteadOfTheCommandsCode(t *testing.T) {
	t.Parallel()
	at, _ := inMemory(t)
	p := at.elect("--restart", "always", "--acl", "world:anyone:crwa", "--", "true")
	require.Equal(t, 77, p.exit(), p.stderr)
	require.Contains(t, p.stderr.String(), "zklock: run /p: the ACL of /p does not let this session delete")
	require.NotContains(t, p.stderr.String(), "the function returned")
}

func TestACommandThatATerminalsSignalHasEndedIsNotRunAgain(t *testing.T) {
	_, c := onTerminal(t)
	for key, code := range map[string]string{ctrlC: "130", ctrlBackslash: "131"} {
		c.enter(`zklock elect --restart always $P -- sh -c 'echo "in"; read x'`)
		c.expect("in\r\n")
		c.key(key)
		c.expect(prompt)
		c.enter(`echo "code:$?"`)
		c.expect("code:" + code)
	}
}

// Where there is no terminal it is one like any other.
func TestACommandThatSuchASignalHasEndedIsRunAgainWithoutATerminal(t *testing.T) {
	t.Parallel()
	for _, sig := range []string{"HUP", "INT", "QUIT"} {
		at := newSite(t)
		args := at.runArgs("--restart", "on-failure", "--", "sh", "-c", "echo in; ulimit -c 0; kill -"+sig+" $$; read x")
		args[0] = "elect"
		p := startSession(t, at.command(args...))
		require.Equal(t, "in", p.line())
		require.Equal(t, "in", p.line(), sig)
	}
}

func TestWhatTheEndOfTheCommandMeansIsTheUsersToSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restart string
		code    string
		again   bool
	}{
		{"no", "0", false}, {"no", "3", false}, {"on-failure", "0", false}, {"on-failure", "3", true}, {"always", "0", true},
	} {
		t.Run(c.restart+" "+c.code, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			p := at.elect("--restart", c.restart, "--", "sh", "-c", `echo in; read x; exit "$x"`)
			require.Equal(t, "in", p.line())
			p.say(c.code)
			if !c.again {
				require.Equal(t, c.code, fmt.Sprint(p.exit()))
				require.Empty(t, at.queue())
				return
			}
			require.Equal(t, "in", p.line())
			require.Contains(t, p.stderr.String(), "we are a candidate again")
			at.killSession()
			require.Equal(t, "in", p.line(), "a loss is no end of the command's own")
			p.say("0")
			if c.restart == "always" {
				require.Equal(t, "in", p.line())
				return
			}
			require.Equal(t, 0, p.exit())
		})
	}
}

func TestACandidateWhoseCommandCannotBeRunLeadsNobody(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.elect("--restart", "always", "--", "no-such-command")
	require.Equal(t, 127, p.exit())
	require.Empty(t, at.queue())
}

func TestWhoKillsACandidateEndsItsCommand(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(*process){
		"the process that was started": func(p *process) { p.signal(syscall.SIGKILL) },
		"its keeper": func(p *process) {
			killKeeper(p)
			require.Equal(p.t, 76, p.exit())
		},
		"both": func(p *process) {
			killKeeper(p)
			p.signal(syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newSite(t)
			p, pid := at.elected("--session-timeout", "4s")
			at.killSession()
			pid2 := p.pid() // in a second term
			require.False(t, alive(pid))
			second := at.candidate(2)
			kill(p)
			second.pid() // leads
			require.False(t, alive(pid2), "two commands run at once")
		})
	}
}

func TestWhoKillsTheKeeperOfACandidateThatWaitsEndsTheCandidate(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p, _ := at.elected("--session-timeout", "4s", "--pause", "1h")
	require.Equal(t, 0, at.zklock("revoke", at.path).exit())
	at.awaitQueue(0)
	p.mute(func() { at.elected() })
	killKeeper(p)
	require.Equal(t, 128+9, p.exit())
}

// The witness is a lock of the machine, which goes with the command.
func TestTwoCommandsNeverRunAtOnceHoweverTheirLeadersEnd(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	witness := filepath.Join(t.TempDir(), "witness")
	leading := make(chan *process, 100)
	links := make(map[*process]*faultproxy.Proxy) // of those that have not ended
	start := func() {
		link := faultproxy.Run(t, at.addr)
		p := at.elect("--servers", link.Addr(), "--session-timeout", "4s", "--kill-after", "200ms", "--",
			"flock", "-n", "-E", "99", witness, "sh", "-c", "echo leads; exec sleep 1000 </dev/null >/dev/null 2>&1")
		links[p] = link
		go func() {
			for range p.lines {
				leading <- p
			}
		}()
	}
	for range 3 {
		start()
	}
	ends := []func(*process){
		func(p *process) { p.signal(syscall.SIGKILL) }, killKeeper, func(p *process) { p.signal(syscall.SIGTERM) },
	}
	goesOn := []func(*process){
		func(p *process) { links[p].Drop(faultproxy.Both) },
		func(*process) { require.Equal(t, 0, at.zklock("revoke", at.path).exit()) },
	}
	for turn := range 2 * len(ends) {
		var p *process
		select {
		case p = <-leading:
		case <-time.After(*patience):
			require.Fail(t, "nobody leads")
		}
		for _, link := range links {
			link.Thaw(faultproxy.Both)
		}
		if turn%2 == 0 {
			goesOn[turn/2%len(goesOn)](p)
			continue
		}
		ends[turn/2%len(ends)](p)
		require.NotEqual(t, 99, p.exit(), "two ran at once")
		delete(links, p)
		start()
	}
	for p := range links {
		p.mute(func() {})
	}
}

func TestLeaderShowsEachChangeAsALine(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	watch := at.zklock("leader", "--watch", at.path)
	programs := at.zklock("leader", "--watch", "--format", "json", at.path)
	require.Equal(t, "nobody leads "+at.path, watch.line())
	require.Equal(t, `{"path":"`+at.path+`","leader":null}`, programs.line())
	p, _ := at.elected("--value", "a b")
	require.Regexp(t, fmt.Sprintf(`^a b: \S+ pid %d leads %s since \S+, token \d+, session 0x[0-9a-f]+$`, p.cmd.Process.Pid, at.path), watch.line())
	node, stat := at.node()
	var shown struct {
		Path   string
		Leader struct {
			Value, Session, Host, Node string
			Token                      int64
			PID                        int
			Since                      time.Time
		}
	}
	require.NoError(t, json.Unmarshal([]byte(programs.line()), &shown))
	require.Equal(t, "a b", shown.Leader.Value)
	require.Equal(t, node, shown.Leader.Node)
	require.Equal(t, stat.Czxid, shown.Leader.Token)
	require.Equal(t, fmt.Sprintf("%#x", uint64(stat.EphemeralOwner)), shown.Leader.Session)
	require.Equal(t, p.cmd.Process.Pid, shown.Leader.PID)
	require.False(t, shown.Leader.Since.IsZero())
	p.stdin.Close()
	require.Equal(t, "nobody leads "+at.path, watch.line())
	watch.signal(interrupt)
	require.Equal(t, 128+2, watch.exit())
	require.Empty(t, watch.stderr.String())
}

func TestTheExitCodeOfLeaderCanBeTheAnswer(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	require.Equal(t, 1, at.zklock("leader", "--exit-code", at.path).exit())
	at.elected()
	eventually(t, "the leader to be seen", func() bool { return at.zklock("leader", "--exit-code", at.path).exit() == 0 })
	gone := at.zklock("leader", "--exit-code", "--servers", "127.0.0.1:1", "--connect-timeout", "200ms", at.path)
	require.Equal(t, 2, gone.exit())
	require.Equal(t, 69, at.zklock("leader", "--servers", "127.0.0.1:1", "--connect-timeout", "200ms", at.path).exit())
	require.Equal(t, 64, at.zklock("leader", "--exit-code", "--watch", at.path).exit())
}
