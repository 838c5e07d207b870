package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	beforeTheRule = "2026-11-01T12:00:00Z"
	underTheRule  = "2027-01-01T12:00:00Z"
)

// history is a repository of commits that change nothing.
type history struct {
	t   *testing.T
	dir string
}

func (h history) git(args ...string) string { return h.gitAt(underTheRule, args...) }

func (h history) gitAt(date string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", h.dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (h history) commit(date, message string) {
	h.t.Helper()
	h.gitAt(date, "commit", "-q", "--allow-empty", "-m", message)
}

// lint returns what the linter says, and whether it is content.
func (h history) lint(args ...string) (says string, ok bool) {
	h.t.Helper()
	script, err := filepath.Abs("../scripts/lint-commits.sh")
	require.NoError(h.t, err)
	cmd := exec.Command(script, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // as in CI
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestACommitSaysItsPackageInAShortSubjectAndWhyInItsBody(t *testing.T) {
	for _, needed := range []string{"git", "bash"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("there is no " + needed)
		}
	}
	h := history{t, t.TempDir()}
	h.git("init", "-q")
	long := "queue: " + strings.Repeat("é", 65)
	h.commit(beforeTheRule, "an older commit")
	old := h.git("rev-parse", "HEAD")
	h.commit(underTheRule, long+"\n\nIt is as long as may be.")
	h.commit(underTheRule, "queue, internal/wire: a lost create is looked for\n\nIts node would stay.")
	says, ok := h.lint()
	require.True(t, ok, says)
	says, ok = h.lint("0123456789012345678901234567890123456789")
	require.True(t, ok, "a commit that the clone does not have: %s", says)

	for message, complaint := range map[string]string{
		long + "é\n\nIt is longer.":                  "has 73 characters, and at most 72 may be",
		"A lost create is looked for\n\nA node.":     "does not begin with the package",
		"queue: no reason":                           "has no body",
		"queue: no reason\n\nSigned-off-by: a <a@b>": "has no body",
	} {
		h.commit(underTheRule, message)
		says, ok := h.lint()
		require.False(t, ok, message)
		require.Contains(t, says, complaint)
		require.Equal(t, 1, strings.Count(says, "\n"), says)
		says, ok = h.lint("HEAD")
		require.True(t, ok, "it is not since that: %s", says)
		h.git("reset", "-q", "--hard", "HEAD^")
	}

	h.git("checkout", "-q", "-b", "side", "HEAD^")
	h.commit(underTheRule, "wire: an answer that is late\n\nIt is late.")
	h.git("merge", "-q", "--no-ff", "-m", "Merge 1234567 into 89abcde", "@{-1}")
	says, ok = h.lint(old)
	require.True(t, ok, "a merge is nobody's: %s", says)
	shallow := history{t, filepath.Join(t.TempDir(), "shallow")}
	h.git("clone", "-q", "--depth", "1", "file://"+h.dir, shallow.dir)
	says, ok = shallow.lint()
	require.True(t, ok, "which has no parents here: %s", says)
}
