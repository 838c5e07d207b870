// Package zklockprom counts what zklock's locks do, for Prometheus:
//
//	metrics := zklockprom.New()
//	prometheus.MustRegister(metrics)
//	session, err := zklock.Connect(ctx, servers, timeout, zklock.WithSessionTrace(metrics.SessionTrace()))
//	mu, err := zklock.New(session, "/locks/ledger", zklock.WithTrace(metrics.Trace()))
//
// Every metric of a lock has the label path. Use it with locks that have few paths: a lock
// per user would make a time series per user.
package zklockprom
