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
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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

// scrapes are what Prometheus has of some processes: by series, a sample of each minute.
type scrapes struct {
	*bench
	registries []*prometheus.Registry // of the processes
	series     map[string][]string
	minute     int
}

// process returns another process of the same servers.
func (s *scrapes) process() *bench {
	b := &bench{T: s.T, server: s.server, metrics: zklockprom.New(), chroot: s.chroot}
	s.registries = append(s.registries, prometheus.NewRegistry())
	s.registries[len(s.registries)-1].MustRegister(b.metrics)
	return b
}

// minutes has the processes scraped for n minutes, at their beginnings. A minute of Prometheus' is a
// second of theirs: their counters are the same, and it costs less.
func (s *scrapes) minutes(n int) {
	for ; n > 0; n-- {
		for instance, registry := range s.registries {
			families, err := registry.Gather()
			require.NoError(s, err)
			for _, f := range families {
				for _, m := range f.GetMetric() {
					name, value := f.GetName(), m.GetGauge().GetValue()+m.GetCounter().GetValue()
					if m.GetHistogram() != nil {
						name, value = name+"_count", float64(m.GetHistogram().GetSampleCount())
					}
					labels := fmt.Sprintf(`instance="%d"`, instance)
					for _, l := range m.GetLabel() {
						labels += fmt.Sprintf(", %s=%q", l.GetName(), l.GetValue())
					}
					s.sample(name+"{"+labels+"}", value)
				}
			}
		}
		s.minute++
		time.Sleep(time.Second)
	}
}

func (s *scrapes) sample(series string, value float64) {
	for len(s.series[series]) < s.minute {
		s.series[series] = append(s.series[series], "_")
	}
	s.series[series] = append(s.series[series], fmt.Sprint(value))
}

// take queues up for the lock with l, and returns where its hold comes, if it does in the test.
func (b *bench) take(l *zklock.Locker) <-chan *zklock.Hold {
	got := make(chan *zklock.Hold, 1)
	go func() {
		defer close(got)
		if h, err := l.Acquire(b.Context()); err == nil {
			got <- h
		}
	}()
	synctest.Wait()
	return got
}

// release gives back the hold that comes from got.
func (b *bench) release(got <-chan *zklock.Hold) {
	h := <-got
	require.NoError(b, h.Release(b.Context()))
	synctest.Wait()
}

func TestTheAlertsFireForWhatProcessesShow(t *testing.T) {
	cases := []struct {
		name, alert string
		minutes     int // that it fires
		happens     func(s *scrapes)
	}{
		{"the first call is denied", "ZklockDenied", 10, func(s *scrapes) {
			app := s.process()
			session := app.session()
			_, err := session.Conn().Create(s.chroot, nil, 0, zk.WorldACL(zk.PermRead))
			require.NoError(s, err)
			s.minutes(5)
			require.ErrorIs(s, app.locker(session).LockContext(s.Context()), zk.ErrNoAuth)
			s.minutes(15)
		}},
		{"a later call is denied", "ZklockDenied", 10, func(s *scrapes) {
			app := s.process()
			session := app.session()
			l := app.locker(session)
			l.Lock()
			s.minutes(5)
			_, err := session.Conn().SetACL(l.Path(), zk.WorldACL(zk.PermRead|zk.PermDelete), -1)
			require.NoError(s, err)
			l.Unlock()
			require.ErrorIs(s, l.LockContext(s.Context()), zk.ErrNoAuth)
			s.minutes(15)
		}},
		{"the first hold is lost within a minute", "ZklockLost", 10, func(s *scrapes) {
			app := s.process()
			session := app.session()
			l := app.locker(session)
			s.minutes(5)
			l.Lock()
			s.server.ExpireSession(session.ID())
			<-l.Lost()
			s.minutes(15)
		}},
		{"processes hold for ten minutes each, for the first time", "ZklockStuck", 0, func(s *scrapes) {
			s.readsTheQueue()
			var line []<-chan *zklock.Hold
			for range 5 {
				app := s.process()
				line = append(line, app.take(app.locker(app.session())))
			}
			for _, got := range line[:4] {
				s.minutes(10)
				s.release(got)
			}
		}},
		{"processes hold for a moment, before they are scraped for the first time", "ZklockStuck", 0, func(s *scrapes) {
			s.readsTheQueue()
			unscraped := s.session()
			holder, next := s.take(s.locker(unscraped)), s.take(s.locker(unscraped))
			for range 4 {
				app := s.process()
				own, behind := app.take(app.locker(app.session())), s.take(s.locker(unscraped))
				s.release(holder)
				s.release(next)
				s.release(own)
				holder, next = behind, s.take(s.locker(unscraped))
				s.minutes(10)
			}
		}},
		{"a process does not let go", "ZklockStuck", 20, func(s *scrapes) {
			s.readsTheQueue()
			for range 2 {
				app := s.process()
				app.take(app.locker(app.session()))
			}
			s.minutes(40)
		}},
	}
	rules, err := filepath.Abs("alerts.yml")
	require.NoError(t, err)
	tests := "rule_files: [" + rules + "]\nevaluation_interval: 1m\ntests:\n"
	for _, c := range cases {
		inBubble(t, func(b *bench) {
			b.chroot = "/app"
			s := &scrapes{bench: b, series: make(map[string][]string)}
			c.happens(s)
			tests += "  - interval: 1m\n    input_series:\n"
			for series, samples := range s.series {
				tests += fmt.Sprintf("      - {series: '%s', values: '%s'}\n", series, strings.Join(samples, " "))
			}
			want := ""
			if c.minutes > 0 {
				want = fmt.Sprintf("{value: %d}", c.minutes)
			}
			tests += fmt.Sprintf("    promql_expr_test:\n"+
				"      - expr: 'sum(count_over_time(ALERTS{alertname=%q, alertstate=\"firing\"}[1h])) # %s'\n"+
				"        eval_time: %dm\n        exp_samples: [%s]\n", c.alert, c.name, s.minute-1, want)
		})
	}
	file := filepath.Join(t.TempDir(), "test.yml")
	require.NoError(t, os.WriteFile(file, []byte(tests), 0o600))
	promtool(t, "test", "rules", file)
}

// readsTheQueue has the queue shown, by a process of its own.
func (s *scrapes) readsTheQueue() {
	reader := s.process()
	s.registries[len(s.registries)-1].MustRegister(zklockprom.NewQueue(reader.session(), time.Second, path))
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
