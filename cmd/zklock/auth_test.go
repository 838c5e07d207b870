package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestAFileOfCredentialsThatOthersMayUseIsRefused(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	at.create(zk.DigestACL(zk.PermAll, "zoe", "s3cret"))
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("digest:zoe:s3cret\n"), 0o600))
	for _, args := range [][]string{{"run", at.path, "--auth-file", file, "--", "true"}, {"status", at.path, "--auth-file", file}} {
		for mode, right := range map[os.FileMode]string{
			0o644: "chmod 600 ", 0o640: "chmod 600 ", 0o620: "chmod 600 ", 0o602: "chmod 600 ",
			0o666: "chmod 600 ", 0o755: "chmod 600 ", 0o444: "chmod 400 ",
		} {
			require.NoError(t, os.Chmod(file, mode))
			p := at.zklock(args...)
			require.Equal(t, 64, p.exit(), "%v", mode)
			require.Contains(t, p.stderr.String(), "zklock: --auth-file "+file+": its mode is ")
			require.Contains(t, p.stderr.String(), right+file)
			require.NotContains(t, p.stderr.String(), "s3cret")
			off := append([]string{args[0], "--auth-file-mode-check=off"}, args[1:]...)
			require.Equal(t, 0, at.zklock(off...).exit())
		}
		for _, mode := range []os.FileMode{0o600, 0o400, 0o700} {
			require.NoError(t, os.Chmod(file, mode))
			require.Equal(t, 0, at.zklock(args...).exit(), "%v", mode)
		}
	}
	require.NoError(t, os.Chmod(file, 0o666))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(file, link))
	require.Equal(t, 64, at.zklock("status", at.path, "--auth-file", link).exit(), "the file counts, not the link")
	wrong := at.zklock("status", at.path, "--auth-file-mode-check=maybe")
	require.Equal(t, 64, wrong.exit())
	require.Contains(t, wrong.stderr.String(), "on, off")
}

func TestAFileOfCredentialsThatRootHasMadeForAGroupIsTaken(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	at := newSite(t)
	file := filepath.Join(t.TempDir(), "auth")
	require.NoError(t, os.WriteFile(file, []byte("digest:zoe:s3cret\n"), 0o640))
	require.NoError(t, os.Chown(file, 12345, 0))
	for mode, code := range map[os.FileMode]int{0o640: 0, 0o440: 0, 0o660: 64, 0o644: 64} {
		require.NoError(t, os.Chmod(file, mode))
		p := at.zklock("status", at.path, "--auth-file", file)
		require.Equal(t, code, p.exit(), "%v: %s", mode, p.stderr)
	}
}
