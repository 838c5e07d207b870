package apachezk

import (
	"context"
)

// TB is what Run uses of testing.TB.
type TB interface {
	Helper()
	Cleanup(cleanup func())
	Context() context.Context
	Failed() bool
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run starts an ensemble for the duration of a test. configure may change the
// Config, which describes one server at first. On a machine without ZooKeeper
// the test is skipped. If the test fails, the ends of the servers' logs are
// logged.
func Run(tb TB, configure ...func(*Config)) *Ensemble {
	tb.Helper()
	if _, err := Find(); err != nil {
		tb.Skipf("needs a real ZooKeeper: %v", err)
	}
	var cfg Config
	for _, change := range configure {
		change(&cfg)
	}
	e, err := Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("start ZooKeeper: %v", err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			e.logTo(tb)
		}
		e.Stop()
	})
	return e
}

func (e *Ensemble) logTo(tb TB) {
	for _, s := range e.servers {
		log, err := s.logTail()
		if err != nil {
			tb.Logf("no log of server %d: %v", s.id, err)
			continue
		}
		tb.Logf("end of the log of server %d:\n%s", s.id, log)
	}
}
