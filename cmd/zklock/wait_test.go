package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWaitSaysWhoHasTheLockAndHowFarItIs(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	holder := at.holder("--data", "the first")
	quiet := at.contender("--data", "the quiet")
	at.awaitQueue(2)
	told := at.contender("-v")
	says := func(what string) {
		t.Helper()
		eventually(t, what, func() bool { return strings.Contains(told.stderr.String(), what) })
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
	said := told.stderr.String()
	require.Equal(t, 2, strings.Count(said, "waiting for the lock"), "each place once")
	require.Less(t, strings.LastIndex(said, "waiting for the lock"), strings.Index(said, "the lock is ours"))

	third := at.contender("-v", "-s", "--log-format=json")
	eventually(t, "a line of JSON", func() bool { return strings.Contains(third.stderr.String(), `"position":1`) })
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
