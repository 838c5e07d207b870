package main_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const interrupt = syscall.SIGINT

func TestRevokeAsksAndTheCommandGoesOn(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	require.Equal(t, 1, at.zklock("revoke", at.path).exit(), "nobody holds it")
	p := at.run("--", "sh", "-c", `echo in; read x; echo "got $x"; exit 3`)
	p.line()
	node, _ := at.node()
	r := at.zklock("revoke", at.path)
	said := r.rest()
	require.Len(t, said, 1)
	require.Contains(t, said[0], "for "+node)
	require.Equal(t, 0, r.exit())
	eventually(t, "the holder to say so", func() bool {
		return strings.Contains(p.stderr.String(), "somebody asks for the lock back")
	})
	require.Contains(t, at.zklock("status", at.path).rest()[1], fmt.Sprintf(" pid %d (asked to give it back) ", p.cmd.Process.Pid))
	p.say("on")
	require.Equal(t, "got on", p.line())
	require.Equal(t, 3, p.exit())
}

func TestARevokedCommandEndsIfItWasToldTo(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--on-revoke", "term", "--", "sh", "-c", `trap 'echo ending; exit 4' TERM; echo in; read x`)
	p.line()
	require.Equal(t, 0, at.zklock("revoke", at.path).exit())
	require.Equal(t, "ending", p.line())
	require.Equal(t, 4, p.exit())
	require.Empty(t, at.queue())
}

func TestRevokeWaitsUntilTheLockIsGivenBack(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	deaf := at.holder("--shared")
	node, _ := at.node()
	late := at.zklock("revoke", "--wait", "0.2", at.path)
	require.Equal(t, 75, late.exit())
	require.Contains(t, late.stderr.String(), fmt.Sprintf("pid %d (asked to give it back) has not given back %s after 200ms", deaf.cmd.Process.Pid, node))
	deaf.stdin.Close()
	require.Equal(t, 0, deaf.exit())

	p := at.run("--on-revoke", "term", "--", "sh", "-c", `trap 'echo asked; read x; exit 4' TERM; echo in; read x`)
	p.line()
	asking := at.zklock("revoke", "--wait", "1h", at.path)
	require.Contains(t, asking.line(), "asked ")
	require.Equal(t, "asked", p.line())
	require.Len(t, at.queue(), 1)
	p.stdin.Close()
	require.Equal(t, 0, asking.exit())
	require.Empty(t, at.queue(), "it has waited for that")
	require.Equal(t, 4, p.exit())

	at.holder()
	stopped := at.zklock("revoke", "--wait", "1h", at.path)
	stopped.line()
	stopped.signal(interrupt)
	require.Equal(t, 130, stopped.exit())
}

func TestOneNodeCanBeRevoked(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	first := at.holder("-s", "--on-revoke", "term")
	node, _ := at.node()
	second := at.holder("-s", "--on-revoke", "term")
	none := at.zklock("revoke", "--node", "none", at.path)
	require.Equal(t, 1, none.exit())
	require.Contains(t, none.stderr.String(), `--node "none"`)
	part := at.zklock("revoke", "--node", "_c_", at.path)
	require.Equal(t, 1, part.exit())
	require.Contains(t, part.stderr.String(), `--node "_c_": 2 nodes of `+at.path+` have that in their name`)
	require.Equal(t, 0, at.zklock("revoke", "--node", node[len(node)-10:], at.path).exit())
	require.Equal(t, 128+15, first.exit())
	at.awaitQueue(1)
	require.Equal(t, 0, at.zklock("revoke", at.path).exit(), "all that hold it")
	require.Equal(t, 128+15, second.exit())
}

func TestBreakSaysWhatItWouldDoAndWithYesDoesIt(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.holder()
	node, _ := at.node()
	waiter := at.contender()
	at.awaitQueue(2)

	none := at.zklock("break", at.path, "--node", "none", "--yes")
	require.Equal(t, 1, none.exit())

	both := at.zklock("break", at.path, "--node", "_c_", "--yes")
	require.Equal(t, 1, both.exit())
	require.Contains(t, both.stderr.String(), "2 nodes of "+at.path)
	require.Len(t, at.queue(), 2)

	dry := at.zklock("break", at.path, "--node", node[len(node)-10:])
	said := strings.Join(dry.rest(), "\n")
	require.Contains(t, said, node)
	require.Contains(t, said, "holds "+at.path)
	require.Contains(t, said, "The next in line has the lock at once")
	require.Equal(t, 64, dry.exit())
	require.Contains(t, dry.stderr.String(), "nothing was deleted: add --yes")
	require.Len(t, at.queue(), 2)

	require.Equal(t, 0, at.zklock("break", at.path, "--node", node, "--yes").exit())
	require.Equal(t, "in", waiter.line())
	require.Equal(t, 76, holder.exit(), "the holder's command is ended")

	queued := at.run("--", "cat")
	at.awaitQueue(2)
	var last string
	for _, c := range parse(t, at.zklock("status", "--format", "json", at.path).rest()[0]).Contenders {
		last = c.Node
	}
	b := at.zklock("break", at.path, "--node", last, "--yes")
	require.Contains(t, b.line(), "waits for "+at.path)
	require.Equal(t, 0, b.exit())
	at.awaitQueue(2) // it asks again
	waiter.stdin.Close()
	queued.stdin.Close()
	require.Equal(t, 0, queued.exit())
}

func TestBreakAsksAtATerminalAndAgainIfTheNodeHasBecomeTheHolder(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.run("--", "cat")
	at.awaitQueue(1)
	first, _ := at.node()
	waiter := at.contender()
	at.awaitQueue(2)
	second := at.path + "/" + at.queue()[0]
	if second == first {
		second = at.path + "/" + at.queue()[1]
	}
	c := newConsole(at)
	c.enter("zklock break $P --node " + second + "; echo code $?")
	c.expect("waits for " + at.path)
	c.expect("Delete it? [y/N] ")
	holder.stdin.Close()
	require.Equal(t, "in", waiter.line())
	c.key("y\r")
	c.expect("holds " + at.path)
	c.expect("Delete it? [y/N] ")
	require.Len(t, at.queue(), 1)
	c.key("\r")
	c.expect("nothing was deleted")
	c.expect("code 1")
	c.enter("zklock break $P --node " + second + "; echo code $?")
	c.expect("Delete it? [y/N] ")
	c.key(ctrlC)
	c.expect("code 130")
	require.Len(t, at.queue(), 1)
	c.enter("zklock break $P --node " + second + "; echo code $?")
	c.expect("Delete it? [y/N] ")
	c.key("yes\r")
	c.expect("deleted")
	c.expect("code 0")
	require.Equal(t, 76, waiter.exit())
	require.NotContains(t, strings.ReplaceAll(c.said.String(), "zklock break", ""), "--yes", "nobody is told to say it again")
}

func TestAMessageInJSONSaysWhatWasChosen(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--log-format", "json", "--on-revoke", "term", "--", "sh", "-c", "echo in; exec sleep 1000")
	p.line()
	require.Equal(t, 0, at.zklock("revoke", at.path).exit())
	require.Equal(t, 128+15, p.exit())
	require.Contains(t, p.stderr.String(), `"on_revoke":"term"`)
}
