//go:build unix

package job

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOfTheSettingsOfGoItsTracesAreLeft(t *testing.T) {
	for settings, left := range map[string]string{
		"":                             "",
		"netdns=go":                    "netdns=go",
		"gctrace=1":                    "",
		"tlsrsakex=1,gctrace=1,madv=0": "tlsrsakex=1,madv=0",
		"netdns=go+2,netdns=1+cgo":     "netdns=go,netdns=cgo",
		"netdns=2,madv=0":              "madv=0",
		"schedtrace=50,scheddetail=1,inittrace=1,checkfinalizers=1": "",
	} {
		require.Equal(t, left, withoutTraces(settings), settings)
	}
}

func TestTheCommandHasTheSettingsOfGoThatThisProcessWasStartedWith(t *testing.T) {
	for set, want := range map[string]string{
		strconv.Itoa(os.Getpid()) + ":gctrace=1,madv=0": "gctrace=1,madv=0",
		"gctrace=1":   "madv=0", // whoever has set it
		"1:gctrace=1": "madv=0", // it was executed by another
	} {
		t.Setenv(commandGoDebug, set)
		t.Setenv(goDebug, "madv=0")
		require.NoError(t, leaveTraces())
		command := Environ()
		require.Contains(t, command, goDebug+"="+want, set)
		require.NotContains(t, command, commandGoDebug+"="+set)
	}
}
