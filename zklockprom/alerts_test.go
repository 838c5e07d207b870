package zklockprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zklockprom"
)

// promtool checks the files, and says what is wrong with them.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("needs promtool, of Debian's package prometheus")
	}
	out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestTheAlertsFireWhenTheyShould(t *testing.T) {
	promtool(t, "check", "rules", "alerts.yml")
	promtool(t, "test", "rules", "alerts_test.yml")
}

func TestEveryAlertIsTestedToFireAndNotToFire(t *testing.T) {
	rules, tests := read(t, "alerts.yml"), read(t, "alerts_test.yml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	require.Greater(t, len(alerts), 5)
	for _, alert := range alerts {
		require.Contains(t, tests, "{eval_time: 45m, alertname: "+alert[1]+"}")
		require.Regexp(t, `alertname: `+alert[1]+`\n\s+exp_alerts:\n`, tests)
	}
}

// metricName finds names of metrics, where words of prose and of the log are not.
var metricName = regexp.MustCompile(`\bzklock_\w+`)

func TestTheAlertsAndTheDashboardUseMetricsThatExist(t *testing.T) {
	known := names(zklockprom.New(), zklockprom.NewQueue(nil, 0, path))
	shown := make(map[string]bool)
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json"} {
		found := metricName.FindAllString(read(t, file), -1)
		require.NotEmpty(t, found)
		for _, name := range found {
			base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
			require.True(t, known[base], "%s in %s", name, file)
			if file == "dashboard.json" {
				shown[base] = true
			}
		}
	}
	require.Equal(t, known, shown, "the dashboard shows all of them")
}

// names returns the names of what the collectors describe.
func names(collectors ...prometheus.Collector) map[string]bool {
	described := make(chan *prometheus.Desc, 100)
	for _, c := range collectors {
		c.Describe(described)
	}
	close(described)
	found := make(map[string]bool)
	for d := range described {
		found[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return found
}

func TestTheDashboardAsksInPromQL(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "dashboard.json")), &dashboard))
	require.NotEmpty(t, dashboard.Panels)
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	for i, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Title)
		require.NotEmpty(t, panel.Targets)
		for j, target := range panel.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$path", ".*").Replace(target.Expr)
			require.NotContains(t, expr, "$")
			rules += fmt.Sprintf("      - record: panel:%d:%d\n        expr: %q\n", i, j, expr)
		}
	}
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules), 0o600))
	promtool(t, "check", "rules", file)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
