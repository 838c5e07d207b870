package zklockprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/zklock/zklock"
)

// Metrics is a prometheus.Collector that is fed by the locks that have its Trace.
// One serves all locks of a process.
type Metrics struct {
	waits, holds, ahead *prometheus.HistogramVec
	held                *prometheus.GaugeVec
	lost, cut, errors   *prometheus.CounterVec

	// Of sessions, and without a label: they have no value before SessionTrace is called.
	connected                   *prometheus.GaugeVec
	reconnects, leases, expired *prometheus.CounterVec
}

var _ prometheus.Collector = (*Metrics)(nil)

var (
	// times go from a lock in the same data centre to a job that takes minutes.
	times = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

	// places are those in a queue.
	places = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

// New returns metrics that nothing feeds yet:
//
//	zklock_wait_seconds       histogram: from the call to the grant
//	zklock_hold_seconds       histogram: from the grant to the release or loss
//	zklock_ahead              histogram: how many were ahead of those that queue
//	zklock_held               gauge: holds of this process
//	zklock_lost_total         counter: holds that ended without their owner's release
//	zklock_suspended_total    counter: holds whose connection was lost
//	zklock_errors_total       counter: calls that ended without the lock, by reason
//
// and, of the sessions that have its SessionTrace, without the label path:
//
//	zklock_connected               gauge: sessions that have a connection
//	zklock_reconnects_total        counter: connections in place of lost ones
//	zklock_leases_over_total       counter: times that no server confirmed in time that a session lives
//	zklock_sessions_expired_total  counter: ZooKeeper sessions that the servers ended
//
// The reasons are timeout, canceled, locked (a try), closed (the session), denied
// (by an ACL), lost and other. The label path is the whole path, with the session's chroot if
// there is one.
func New() *Metrics {
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"path"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"path"}, labels...))
	}
	return &Metrics{
		waits: histogram("zklock_wait_seconds", "Time from the call to the grant.", times),
		holds: histogram("zklock_hold_seconds", "Time from the grant to the release or the loss.", times),
		ahead: histogram("zklock_ahead", "How many were ahead of those that queue, as far as it was known at once.", places),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "zklock_held", Help: "Holds of this process.",
		}, []string{"path"}),
		lost:   counter("zklock_lost_total", "Holds that ended without their owner's release."),
		cut:    counter("zklock_suspended_total", "Holds whose connection was lost."),
		errors: counter("zklock_errors_total", "Calls that ended without the lock.", "reason"),

		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "zklock_connected", Help: "Sessions of this process that have a connection.",
		}, nil),
		reconnects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "zklock_reconnects_total", Help: "Connections of sessions in place of lost ones.",
		}, nil),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "zklock_leases_over_total", Help: "Times that no server has confirmed in time that a session lives.",
		}, nil),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "zklock_sessions_expired_total", Help: "ZooKeeper sessions that the servers have ended.",
		}, nil),
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.waits, m.holds, m.ahead, m.held, m.lost, m.cut, m.errors, m.connected, m.reconnects, m.leases, m.expired}
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
// zklock.WithTrace.
func (m *Metrics) Trace() *zklock.Trace {
	return &zklock.Trace{
		Enqueued:  m.enqueued,
		Acquired:  m.acquired,
		Failed:    m.failed,
		Released:  m.ended,
		Suspended: func(i zklock.TraceInfo) { m.cut.WithLabelValues(i.Path).Inc() },
		Lost: func(i zklock.TraceInfo) {
			m.lost.WithLabelValues(i.Path).Inc()
			m.ended(i)
		},
	}
}

// SessionTrace returns the trace that feeds the metrics of sessions; give it to each session by
// zklock.WithSessionTrace.
func (m *Metrics) SessionTrace() *zklock.SessionTrace {
	connected, reconnects := m.connected.WithLabelValues(), m.reconnects.WithLabelValues()
	leases, expired := m.leases.WithLabelValues(), m.expired.WithLabelValues()
	return &zklock.SessionTrace{
		Connected: func(i zklock.SessionTraceInfo) {
			connected.Inc()
			if i.Connection > 1 {
				reconnects.Inc()
			}
		},
		Disconnected: func(zklock.SessionTraceInfo) { connected.Dec() },
		LeaseOver:    func(zklock.SessionTraceInfo) { leases.Inc() },
		Expired:      func(zklock.SessionTraceInfo) { expired.Inc() },
	}
}

// show has a path's series that alerts look at begin with 0, as early as the path is known, which
// is when a call for the lock is first told of: of one that begins with 1, Prometheus sees no increase.
func (m *Metrics) show(path string) {
	m.waits.WithLabelValues(path)
	m.holds.WithLabelValues(path)
	m.lost.WithLabelValues(path)
	m.errors.WithLabelValues(path, denied)
}

func (m *Metrics) enqueued(i zklock.TraceInfo) {
	m.show(i.Path)
	if i.Ahead >= 0 {
		m.ahead.WithLabelValues(i.Path).Observe(float64(i.Ahead))
	}
}

func (m *Metrics) acquired(i zklock.TraceInfo) {
	m.waits.WithLabelValues(i.Path).Observe(seconds(i))
	m.held.WithLabelValues(i.Path).Inc()
}

func (m *Metrics) failed(i zklock.TraceInfo) {
	m.show(i.Path)
	m.errors.WithLabelValues(i.Path, reason(i.Err)).Inc()
}

func (m *Metrics) ended(i zklock.TraceInfo) {
	m.holds.WithLabelValues(i.Path).Observe(seconds(i))
	m.held.WithLabelValues(i.Path).Dec()
}

func seconds(i zklock.TraceInfo) float64 { return i.Time.Sub(i.Since).Seconds() }
