package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/ui"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

func TestAPageListensBeyondThisMachineOnlyIfItIsToldHow(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, ""},
		{[]string{"--listen", "localhost:0"}, ""},
		{[]string{"--listen", "[::1]:8421"}, ""},
		{[]string{"--listen", ":8421"}, "it is to be reached from other machines"},
		{[]string{"--listen", "0.0.0.0:8421"}, "it is to be reached from other machines"},
		{[]string{"--listen", "10.0.0.7:8421"}, "it is to be reached from other machines"},
		{[]string{"--listen", "page.example:8421"}, "it is to be reached from other machines"},
		{[]string{"--listen", ":8421", "--plain-http"}, ""},
		{[]string{"--listen", ":8421", "--https-cert", "c", "--https-key", "k"}, ""},
		{[]string{"--https-cert", "c"}, "give both or none"},
		{[]string{"--listen", "8421"}, "must be host:port"},
	} {
		u := &uiCommand{listen: defaultPage}
		cmd := newUI()
		cmd.SetContext(t.Context())
		require.NoError(t, cmd.ParseFlags(c.args))
		u.listen, u.cert, u.key = cmd.Flag("listen").Value.String(), cmd.Flag("https-cert").Value.String(), cmd.Flag("https-key").Value.String()
		u.plainHTTP = cmd.Flag("plain-http").Changed
		err := u.check(cmd)
		if c.says == "" {
			require.NoError(t, err, c.args)
		} else {
			require.ErrorContains(t, err, c.says, c.args)
			require.Equal(t, exitUsage, codeOf(err))
		}
	}
	require.ErrorContains(t, newUI().ParseFlags([]string{"--allow", "revoke,delete"}), `"delete" is none of its values: revoke, break`)
}

func TestAPageDoesToANodeOnlyWhatWasAgreedToAsItWasShown(t *testing.T) {
	session := connect(t, zktest.NewServer(t))
	l, err := zklock.New(session, "/lock")
	require.NoError(t, err)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	token := h.Token()
	for _, stale := range []ui.Action{{Token: token, Held: false}, {Token: token - 1, Held: true}, {}} {
		for _, verb := range []string{ui.Revoke, ui.Break} {
			stale.Verb, stale.Path, stale.Node = verb, "/lock", h.Node()
			_, err = act(t.Context(), session, stale)
			require.ErrorContains(t, err, "is not as it was shown")
			require.Equal(t, exitConflict, codeOf(err))
			require.NoError(t, h.Err())
			require.False(t, latch.IsClosed(h.Revoked()))
		}
	}
	said, err := act(t.Context(), session, ui.Action{Verb: ui.Revoke, Path: "/lock", Node: h.Node(), Token: token, Held: true})
	require.NoError(t, err)
	require.Contains(t, said, "asked ")
	<-h.Revoked()
	said, err = act(t.Context(), session, ui.Action{Verb: ui.Break, Path: "/lock", Node: h.Node(), Token: token, Held: true})
	require.NoError(t, err)
	require.Contains(t, said, "until the holder notices, both may act")
	require.Contains(t, said, "deleted")
	<-h.Lost()
}
