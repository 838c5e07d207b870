package zklockprom

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zklock/zklock"
)

var (
	readable = describe("zklock_queue_readable", "Whether the queue could be read, 1 or 0.")
	holders  = describe("zklock_queue_holders", "Holds of the lock, by all processes.")
	waiters  = describe("zklock_queue_waiters", "Contenders that wait for the lock, of all processes.")
	position = describe("zklock_queue_position", "How many wait ahead of this session's first waiter; missing if none waits.")
)

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"path"}, nil)
}

// queue reads the queues of some paths at each scrape.
type queue struct {
	session *zklock.Session
	timeout time.Duration
	paths   []string
}

// NewQueue returns a collector that reads the queues of locks at each scrape, with
// zklock.Inspect, within the timeout for each path:
//
//	zklock_queue_readable     gauge: 1, or 0 if the queue could not be read in time
//	zklock_queue_holders      gauge: holds of the lock, by all processes
//	zklock_queue_waiters      gauge: contenders that wait, of all processes
//	zklock_queue_position     gauge: how many wait ahead of the session's first waiter
//
// It costs a list and a read per contender: one process needs to have it, not all.
func NewQueue(s *zklock.Session, timeout time.Duration, paths ...string) prometheus.Collector {
	return &queue{s, timeout, slices.Compact(slices.Sorted(slices.Values(paths)))} // a repeated one would fail the scrape
}

func (q *queue) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{readable, holders, waiters, position} {
		descriptions <- d
	}
}

func (q *queue) Collect(metrics chan<- prometheus.Metric) {
	for _, path := range q.paths {
		q.collect(path, func(d *prometheus.Desc, value int) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), path)
		})
	}
}

func (q *queue) collect(path string, gauge func(d *prometheus.Desc, value int)) {
	ctx, cancel := context.WithTimeout(context.Background(), q.timeout)
	defer cancel()
	contenders, err := zklock.Inspect(ctx, q.session, path)
	if err != nil {
		gauge(readable, 0)
		return
	}
	held, waiting, ahead := 0, 0, -1
	for _, c := range contenders {
		if c.Held {
			held++
			continue
		}
		if ahead < 0 && c.Session == q.session.ID() {
			ahead = waiting
		}
		waiting++
	}
	gauge(readable, 1)
	gauge(holders, held)
	gauge(waiters, waiting)
	if ahead >= 0 {
		gauge(position, ahead)
	}
}
