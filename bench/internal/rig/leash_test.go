package rig

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAServerEndsWithItsLeash(t *testing.T) {
	l, err := start("/bin/sh", "-c", "echo $$; exec sleep 1000")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.HasSuffix(l.log.String(), "\n") }, 10*time.Second, time.Millisecond)
	server := fmt.Sprintf("/proc/%s", strings.TrimSpace(l.log.String()))
	require.DirExists(t, server)

	l.kill()
	_, err = os.Stat(server)
	require.ErrorIs(t, err, os.ErrNotExist)
}
