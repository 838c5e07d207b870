package nemesis

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var hunt = flag.Bool("mutants", false, "see that the tests on real servers find the mutants of the proof of life")

// mutant is the library without one of its safeguards. The simulation has many
// more, see test/mutants: these show that real servers do what the proof of
// life is there for.
type mutant struct {
	name    string
	changes []edit
	test    string // that finds it
	finding string // what that test says
}

// edit replaces a text that occurs once in a file.
type edit struct{ file, old, new string }

// withoutProofs sends no proof and takes the word of whoever extends the lease.
var withoutProofs = edit{"internal/queue/keeper.go", "if !s.proving {", "if false {"}

var mutants = []mutant{
	{"no deadline", []edit{
		{"internal/lease/lease.go", "{ return l.Left(now) > 0 }", "{ return l.end.Load() != nil }"},
	}, "TestAClientThatHearsNothing", "waited in vain for the lease to end"},

	{"answered pings extend the lease", []edit{withoutProofs, {
		"internal/wire/link.go", "r, known := l.take(xid)", "l.dialer.session.Asks(clock.Instant{})\n\tr, known := l.take(xid)",
	}, {
		"internal/queue/observer.go", "if s.id == 0 {", `if at.IsZero() {
		p, now := proof{}, s.client.Clock.Now()
		p.Begun, p.Touched, p.Early = now, now, now
		s.lease.Prove(p.Proof, false, now)
		return
	}
	if s.id == 0 {`,
	}}, "TestAHoldBehindAFollowerThatIsCutOff", "its lost channel was open"},

	{"a proof is trusted after a quiet gap", []edit{
		{"internal/lease/lease.go", "end := l.touchEnd(touch)", "end := begun.Add(part(l.timeout, 3.0/5))"},
	}, "TestAfterAQuietGap", "its lost channel was open"},

	{"a slow write begins a lease", []edit{
		{"internal/lease/lease.go", "if quick && !held", "if !held"},
	}, "TestALockTakenWhileAPausedLeader/called_before,_its_follower_hangs", "its lost channel was open"},
}

func TestMutantsOfTheProofOfLifeAreFoundOnRealServers(t *testing.T) {
	if !*hunt {
		t.Skip("takes minutes: -mutants runs it")
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			out, err := m.run(t, "-test.run", "^"+m.test, "-trials", "800")
			require.Error(t, err, "%s does not notice", m.test)
			require.Contains(t, out, m.finding)
			t.Logf("found by %s", m.test)
		})
	}
}

func TestTheMutantsChangeTextsThatOccurOnce(t *testing.T) {
	for _, m := range append(mutants, unlimited) {
		m.overlay(t)
	}
}

// unlimited holds without a lease. It is not for finding: it shows what the proofs
// cost.
var unlimited = mutant{name: "without proofs", changes: []edit{withoutProofs, {
	"internal/lease/lease.go", "{ return l.Left(now) > 0 }", "{ return l.end.Load() != nil }",
}}}

func TestWhatProofsCost(t *testing.T) {
	if !*measure {
		t.Skip("measures: -measure runs it")
	}
	with := mutant{name: "with proofs"}
	for _, m := range []mutant{with, unlimited, with, unlimited} {
		out, err := m.run(t, "-test.run", "^$", "-test.bench", "Locking", "-test.benchtime", "3s", "-test.count", "2")
		require.NoError(t, err, "%s", out)
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "Benchmark") {
				t.Logf("%s: %s", m.name, strings.TrimSpace(line))
			}
		}
	}
}

// run runs this package's tests with the mutant in the library's place.
func (m mutant) run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "nemesis.test")
	built, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", m.overlay(t), "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	found, err := exec.Command(binary, args...).CombinedOutput()
	return string(found), err
}

// overlay writes the files that have changed, and returns what leads the go
// command to them.
func (m mutant) overlay(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	replace := make(map[string]string)
	for _, c := range m.changes {
		file, err := filepath.Abs(filepath.Join("../..", c.file))
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), c.old), "%s must have this text once:\n%s", c.file, c.old)
		replace[file] = filepath.Join(dir, filepath.Base(c.file))
		require.NoError(t, os.WriteFile(replace[file], []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	return file
}
