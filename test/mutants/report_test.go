package mutants

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// score counts the mutants of a room.
type score struct{ generated, killed, unreached, survived, explained, open int }

func (s *score) add(verdict string, explained bool) {
	s.generated++
	switch {
	case verdict == killed:
		s.killed++
		return
	case verdict == unreached:
		s.unreached++
	case verdict == survived:
		s.survived++
	default:
		s.open++
		return
	}
	if explained {
		s.explained++
	}
}

// percent is how many of those that could be killed are.
func (s *score) percent() float64 {
	return 100 * float64(s.killed) / float64(max(s.generated-s.open-s.explained, 1))
}

func (s *score) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %.1f %% |\n", name, s.generated-s.open, s.killed, s.survived, s.unreached, s.explained, s.percent())
}

const page = "docs/results/mutants.md"

// writeReport writes the page about the campaign.
func writeReport(t *testing.T, all []*generated, rs *results, explained map[string]string) {
	t.Helper()
	scores, total := map[string]*score{}, new(score)
	var alive, unexplained strings.Builder
	for _, g := range all {
		r, _ := rs.known(g)
		reason := explained[g.key()]
		if reason == "" && g.logs {
			reason = "log: the statement does nothing else"
		}
		if scores[g.room] == nil {
			scores[g.room] = new(score)
		}
		scores[g.room].add(r.Verdict, reason != "")
		total.add(r.Verdict, reason != "")
		if r.Verdict != survived && r.Verdict != unreached {
			continue
		}
		if reason == "" {
			fmt.Fprintf(&unexplained, "- %s, %s\n", inCode(g.String()), r.Verdict)
		} else {
			fmt.Fprintf(&alive, "- %s: %s\n", inCode(g.String()), reason)
		}
	}
	var rows strings.Builder
	for _, r := range rooms {
		rows.WriteString(scores[r.directory].row("`" + r.directory + "`"))
	}
	rows.WriteString(total.row("all"))
	text := fmt.Sprintf(pageText, measured(t),
		total.generated-total.open, total.generated, withServers(), *programs, *slowest, rows.String(), orNone(unexplained.String()), orNone(alive.String()))
	require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(text), 0o644))
}

// measured says when a page of results was made, and of which commit.
func measured(t *testing.T) string {
	t.Helper()
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	require.NoError(t, err)
	return fmt.Sprintf("%s at commit %s", time.Now().Format("2 January 2006"), strings.TrimSpace(string(commit)))
}

func withServers() string {
	if *servers {
		return "all tests"
	}
	return "the tests that need no server"
}

func inCode(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

func orNone(list string) string {
	if list == "" {
		return "None.\n"
	}
	return list
}

const pageText = `# Results of the mutants

What they are is said in [mutants.md](../mutants.md).

Run on %s; %d of %d have been judged yet, by %s and by up to %d programs of the simulation.
Tests that take a processor longer than %v were left out.

| room | mutants | killed | survived | not covered | explained | score |
|---|---|---|---|---|---|---|
%s
## Alive, and not explained

%s
## Alive, and why

%s`
