package rig

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAKilledServerIsGone(t *testing.T) {
	s, err := start("/bin/sh", "-c", "echo $$; exec sleep 1000")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.HasSuffix(s.log.String(), "\n") }, 10*time.Second, time.Millisecond)
	process := fmt.Sprintf("/proc/%s", strings.TrimSpace(s.log.String()))
	require.DirExists(t, process)

	s.kill()
	_, err = os.Stat(process)
	require.ErrorIs(t, err, os.ErrNotExist)
}
