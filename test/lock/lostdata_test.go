package lock_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

func TestARealServerThatHasLostItsDataIsUsedAgain(t *testing.T) {
	for name, tc := range map[string]struct{ restored, netty bool }{
		"nothing is left, Netty":        {netty: true},
		"a backup that has the session": {restored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := apachezk.Run(t, func(c *apachezk.Config) { c.Dir, c.Secure = dir, tc.netty }).Server(0)
			ctx := within(t, patience)
			s, err := zklock.Connect(ctx, []string{server.Addr()}, time.Second)
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			data, backup := filepath.Join(dir, "server-1", "data", "version-2"), filepath.Join(dir, "backup")
			if tc.restored {
				require.NoError(t, os.CopyFS(backup, os.DirFS(data)))
			}
			l := must(zklock.New(s, "/locks/mine"))
			for range 20 { // the restored server's own transactions do not come near these
				require.NoError(t, l.LockContext(ctx))
				require.NoError(t, l.UnlockContext(ctx))
			}
			session := s.ID()
			server.Kill()
			require.NoError(t, os.RemoveAll(data))
			if tc.restored {
				require.NoError(t, os.CopyFS(data, os.DirFS(backup)))
			}
			require.NoError(t, server.Start(ctx))
			require.NoError(t, l.LockContext(ctx))
			require.NotEqual(t, session, s.ID())
			require.NoError(t, l.UnlockContext(ctx))
		})
	}
}
