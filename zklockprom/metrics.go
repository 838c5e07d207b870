package zklockprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zklock/zklock"
)

// Metrics is a prometheus.Collector that is fed by the locks that have its Trace.
// One serves all locks of a process.
type Metrics struct {
	waits, holds *prometheus.HistogramVec
	held         *prometheus.GaugeVec
	lost, cut    *prometheus.CounterVec
	errors       *prometheus.CounterVec

	waiting, holding starts
}

var _ prometheus.Collector = (*Metrics)(nil)

// buckets go from a lock in the same data centre to a job that takes minutes.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// New returns metrics that nothing feeds yet:
//
//	zklock_wait_seconds       histogram: from the lock node's creation to the grant
//	zklock_hold_seconds       histogram: from the grant to the release or loss
//	zklock_held               gauge: holds of this process
//	zklock_lost_total         counter: holds that ended without their owner's release
//	zklock_suspended_total    counter: holds whose connection was lost
//	zklock_errors_total       counter: what Error was given, by operation and reason
func New() *Metrics {
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"path"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"path"}, labels...))
	}
	return &Metrics{
		waits: histogram("zklock_wait_seconds", "Time from the lock node's creation to the grant."),
		holds: histogram("zklock_hold_seconds", "Time from the grant to the release or the loss."),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "zklock_held", Help: "Holds of this process.",
		}, []string{"path"}),
		lost:   counter("zklock_lost_total", "Holds that ended without their owner's release."),
		cut:    counter("zklock_suspended_total", "Holds whose connection was lost."),
		errors: counter("zklock_errors_total", "Errors that calls returned.", "op", "reason"),
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.waits, m.holds, m.held, m.lost, m.cut, m.errors}
}

// Describe is of prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descriptions)
	}
}

// Collect is of prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(metrics)
	}
}

// Trace returns the trace that feeds the metrics; give it to each lock by
// zklock.WithTrace. A semaphore's waits do not show: it waits in one node and
// holds others.
func (m *Metrics) Trace() *zklock.Trace {
	return &zklock.Trace{
		Enqueued: func(i zklock.TraceInfo) { m.waiting.begin(i.Node, i.Time) },
		Acquired: m.acquired,
		Released: m.ended,
		Suspended: func(i zklock.TraceInfo) {
			m.cut.WithLabelValues(i.Path).Inc()
		},
		Lost: func(i zklock.TraceInfo) {
			m.lost.WithLabelValues(i.Path).Inc()
			m.ended(i)
		},
	}
}

func (m *Metrics) acquired(i zklock.TraceInfo) {
	observe(m.waits, &m.waiting, i)
	m.holding.begin(i.Node, i.Time)
	m.held.WithLabelValues(i.Path).Inc()
	m.lost.WithLabelValues(i.Path) // shows as 0 from now on, so that its rate is known
}

func (m *Metrics) ended(i zklock.TraceInfo) {
	if observe(m.holds, &m.holding, i) {
		m.held.WithLabelValues(i.Path).Dec()
	}
}

// observe measures the time since the node's beginning; false if that is unknown.
func observe(in *prometheus.HistogramVec, since *starts, i zklock.TraceInfo) bool {
	start, known := since.end(i.Node)
	if known {
		in.WithLabelValues(i.Path).Observe(max(i.Time.Sub(start), time.Duration(0)).Seconds())
	}
	return known
}
