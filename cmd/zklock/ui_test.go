package main_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The larger tests, in a browser, are in test/ui.
func TestUIServesAPageThatIsToldOfChanges(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.zklock("ui", "--listen", "127.0.0.1:0", "--allow", "revoke", at.path)
	url := p.line()
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/$`, url)
	require.Regexp(t, `^token: \w{20,}$`, p.line())
	response, err := http.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Contains(t, string(body), "Nobody holds a lock at or below")

	events, err := http.Get(url + "events?at=/")
	require.NoError(t, err)
	defer events.Body.Close()
	at.holder()
	told := bufio.NewReader(events.Body)
	for line := ""; !strings.Contains(line, "1 lock"); {
		line, err = told.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, p.exit())

	require.Equal(t, 64, at.zklock("ui", "--listen", ":0", at.path).exit())
	require.Equal(t, 69, at.zklock("ui", "--listen", "127.0.0.1:0", "--servers", "127.0.0.1:1", "--connect-timeout", "0.1").exit())
}
