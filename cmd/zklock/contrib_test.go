package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// commandLines are what the files of contrib run, by their names.
func commandLines(t *testing.T) map[string]string {
	t.Helper()
	lines := make(map[string]string)
	line := regexp.MustCompile(`(?m)^(?:ExecStart=|      - run: |\d+ .* digest )(.*zklock run .*)$`)
	for _, dir := range []string{"cron", "systemd", "ci"} {
		entries, err := os.ReadDir("../../contrib/" + dir)
		require.NoError(t, err)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join("../../contrib", dir, e.Name()))
			require.NoError(t, err)
			if found := line.FindSubmatch(text); found != nil {
				lines[e.Name()] = string(found[1])
			}
		}
	}
	return lines
}

func TestTheCommandsOfContribRun(t *testing.T) {
	t.Parallel()
	lines := commandLines(t)
	require.Len(t, lines, 4)
	dir := t.TempDir()
	auth := filepath.Join(dir, "auth")
	require.NoError(t, os.WriteFile(auth, []byte("digest:zoe:s3cret\n"), 0o600))
	work := filepath.Join(dir, "work")
	require.NoError(t, os.WriteFile(work, []byte("#!/bin/sh\necho ran \"$ZKLOCK_TOKEN\"\n"), 0o700))
	for name, line := range lines {
		at := newSite(t)
		// The servers and programs are not ours, and nobody is to wait for two minutes.
		script := strings.NewReplacer(
			"/usr/local/bin/zklock", zklockBinary, "/usr/local/bin/send-digest", work, "/usr/local/bin/worker", work, "./deploy.sh", work,
			"/etc/zklock/auth", auth, "--hold-at-least 2m", "--hold-at-least 0.1", "/locks/", at.path+"-",
		).Replace(line)
		sh := exec.Command("sh", "-euc", script)
		sh.Env = append(at.command().Env, "PATH="+filepath.Dir(zklockBinary)+":"+os.Getenv("PATH"), "ZKLOCK_AUTH=digest:zoe:s3cret")
		p := at.start(sh)
		require.Regexp(t, `^ran \d+$`, p.line(), "%s: %s", name, p.stderr)
		require.Equal(t, 0, p.exit(), name)
		if !strings.Contains(script, " -v ") {
			require.Empty(t, p.stderr.String(), name)
		}
	}
}

func TestTheUnitsOfContribAreWhatSystemdTakes(t *testing.T) {
	t.Parallel()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	units, err := filepath.Glob("../../contrib/systemd/*")
	require.NoError(t, err)
	require.Len(t, units, 3)
	dir := t.TempDir()
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		require.NoError(t, err)
		// It looks whether the programs are there.
		here := regexp.MustCompile(`/usr/local/bin/\S+`).ReplaceAll(text, []byte("/bin/true"))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(unit)), here, 0o644))
	}
	for _, unit := range units {
		said, err := exec.Command(verify, "verify", "--man=no", filepath.Join(dir, filepath.Base(unit))).CombinedOutput()
		require.NoError(t, err, "%s", said)
		for line := range strings.Lines(string(said)) { // it looks at the units of the machine too
			require.NotContains(t, line, dir)
		}
	}
}
