// Package zklockprom counts what zklock's locks do, for Prometheus:
//
//	metrics := zklockprom.New()
//	prometheus.MustRegister(metrics)
//	mu, err := zklock.New(session, "/locks/ledger", zklock.WithTrace(metrics.Trace()))
//
// Every metric has the label path. Use it with locks that have few paths: a lock
// per user would make a time series per user.
package zklockprom
