package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandFindsTheLockInItsEnvironment(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "sh", "-c", `printf '%s\n' "$ZKLOCK_PATH" "$ZKLOCK_NODE" "$ZKLOCK_TOKEN" "$ZKLOCK_SESSION"; cat`)
	path, node, token, session := p.line(), p.line(), p.line(), p.line()
	name, stat := at.node()
	require.Equal(t, at.path, path)
	require.Equal(t, name, node)
	require.Equal(t, fmt.Sprint(stat.Czxid), token)
	require.Equal(t, fmt.Sprintf("%#x", uint64(stat.EphemeralOwner)), session)
}

func TestTheCommandOfARunInsideARunFindsTheInnerLockOnly(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	inner := at.path + "-inner"
	p := at.run("--", zklockBinary, "run", inner, "--", "env")
	var found []string
	for _, variable := range p.rest() {
		if strings.HasPrefix(variable, "ZKLOCK_PATH=") || strings.HasPrefix(variable, "ZKLOCK_NODE=") {
			found = append(found, variable)
		}
	}
	require.Equal(t, 0, p.exit())
	require.Len(t, found, 2, "one that finds several takes any")
	require.Equal(t, "ZKLOCK_PATH="+inner, found[0])
	require.Contains(t, found[1], "ZKLOCK_NODE="+inner+"/")
}

func TestStandardStreamsAndOpenFilesPassThroughUntouched(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	extra, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer extra.Close()
	cmd := at.command(at.runArgs("--", "sh", "-c", "cat; echo err >&2; echo three >&3")...)
	cmd.ExtraFiles = []*os.File{extra}
	cmd.Stdin = strings.NewReader("\x00\xff one\n\ntwo")
	p := at.start(cmd)
	require.Equal(t, []string{"\x00\xff one", "", "two"}, p.rest())
	require.Equal(t, "err\n", p.stderr.String())
	content, err := os.ReadFile(extra.Name())
	require.NoError(t, err)
	require.Equal(t, "three\n", string(content))
}

func TestNoShellReadsTheCommand(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.run("--", "printf", "%s|", "a b", "$HOME", "*", "-n", "--", ";")
	require.Equal(t, []string{"a b|$HOME|*|-n|--|;|"}, p.rest())
}

func TestTheLocksNodeSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{nil, "host=" + host + " pid="},
		{[]string{"--data", "nightly backup"}, "nightly backup"},
	} {
		p := at.run(append(c.flags, "--", "sh", "-c", "echo ready; cat")...)
		p.line()
		node, _ := at.node()
		data, _, err := at.conn.Get(node)
		require.NoError(t, err)
		require.Contains(t, string(data), c.says)
		p.stdin.Close()
		require.Equal(t, 0, p.exit())
	}
}

func TestOneAfterTheOtherInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	first := at.holder("-x")
	second := at.contender()
	at.awaitQueue(2)
	third := at.contender("-w", "1m")
	third.mute(func() { second.mute(func() { at.awaitQueue(3) }) })
	first.stdin.Close()
	require.Equal(t, "in", second.line())
	third.mute(func() { at.awaitQueue(2) })
	second.stdin.Close()
	require.Equal(t, "in", third.line())
}

func TestSharersRunTogetherAndExcludeTheOthers(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	var sharers []*process
	for _, flag := range []string{"-s", "--shared"} {
		p := at.holder(flag)
		sharers = append(sharers, p)
	}
	writer := at.contender("--exclusive")
	at.awaitQueue(3)
	require.Equal(t, 75, at.run("-s", "-n", "--", "true").exit(), "who asks behind a writer waits for it")
	writer.mute(func() {
		sharers[0].stdin.Close()
		require.Equal(t, 0, sharers[0].exit())
		at.awaitQueue(2)
	})
	sharers[1].stdin.Close()
	require.Equal(t, "in", writer.line())
}

func TestALimitLetsThatManyRun(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	var running []*process
	for range 2 {
		p := at.holder("--limit", "2")
		running = append(running, p)
	}
	require.Equal(t, 75, at.run("--limit", "2", "-n", "--", "true").exit())
	require.Equal(t, 75, at.conflict("--limit", "2", "-w", inUnits, "--", "true").exit())
	other := at.run("--limit", "3", "-n", "--", "true")
	require.Equal(t, 64, other.exit(), "those who share a limit must agree on it")
	require.Contains(t, other.stderr.String(), "size=3")
	running[0].stdin.Close()
	require.Equal(t, 0, running[0].exit())
	require.Equal(t, 0, at.run("--limit", "2", "-n", "--", "true").exit())
}

func TestAWaitSaysWhoHasTheLockAndHowFarItIs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.holder("--data", "the first")
	quiet := at.contender("--data", "the quiet")
	at.awaitQueue(2)
	told := at.contender("-v")
	says := func(what string) {
		t.Helper()
		told.awaitMessage(what)
	}
	says(`msg="waiting for the lock" position=2 holder="the first" holders=1`)
	told.mute(func() {
		holder.stdin.Close()
		require.Equal(t, "in", quiet.line())
		says(`msg="waiting for the lock" position=1 holder="the quiet" holders=1`)
	})
	require.Empty(t, quiet.stderr.String(), "nobody asked")
	quiet.stdin.Close()
	require.Equal(t, "in", told.line())
	says("the lock is ours") // what comes by another pipe may come later
	said := told.stderr.String()
	require.Equal(t, 2, strings.Count(said, "waiting for the lock"), "each place once")
	require.Less(t, strings.LastIndex(said, "waiting for the lock"), strings.Index(said, "the lock is ours"))

	third := at.contender("-v", "-s", "--log-format=json")
	third.awaitMessage(`"position":1`)
}

func TestAWaitForALimitSaysHowManyHaveIt(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	for range 2 {
		at.holder("--limit", "2", "--data", "busy")
	}
	third := at.run("-v", "--limit", "2", "--", "cat")
	eventually(t, "its place", func() bool {
		return strings.Contains(third.stderr.String(), `position=1 holder=busy holders=2`)
	})
}
