package zklockprom

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zklock/zklock"
)

// maxScrape is well below the 10 s after which Prometheus gives a scrape up, and with
// it all metrics of the process.
const maxScrape = 5 * time.Second

// queue reads the queues of some paths at each scrape.
type queue struct {
	session *zklock.Session
	timeout time.Duration
	lines   []*line
}

// NewQueue returns a collector that reads the queues of locks at each scrape, with
// zklock.Inspect, all at once and within the timeout, which is 5 seconds if it is
// longer than that or 0:
//
//	zklock_queue_readable     gauge: 1, or 0 if the queue could not be read in time
//	zklock_queue_holders      gauge: holds of the lock, by all processes; permits of a semaphore
//	zklock_queue_waiters      gauge: contenders that wait, of all processes
//	zklock_queue_position     gauge: how many wait ahead of the session's first waiter
//	zklock_queue_age_seconds  gauge: how old that is
//
// A queue that cannot be read is shown as it was last known; one that could never be
// read has readable alone.
//
// It costs a list and a read per contender: one process needs to have it, not all.
// A registry takes several, each with paths of its own. The paths are below the session's chroot,
// if there is one; the label path has it, as in Metrics.
func NewQueue(s *zklock.Session, timeout time.Duration, paths ...string) prometheus.Collector {
	if timeout <= 0 || timeout > maxScrape {
		timeout = maxScrape
	}
	q := &queue{session: s, timeout: timeout}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) { // a repeated one would fail the scrape
		q.lines = append(q.lines, newLine(s, path))
	}
	return q
}

func (q *queue) Describe(descriptions chan<- *prometheus.Desc) {
	for _, l := range q.lines {
		for _, d := range []*prometheus.Desc{l.readable, l.holders, l.waiters, l.position, l.age} {
			descriptions <- d
		}
	}
}

func (q *queue) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), q.timeout)
	defer cancel()
	var reads sync.WaitGroup
	for _, l := range q.lines {
		reads.Go(func() { l.collect(ctx, q.session, metrics) })
	}
	reads.Wait()
}

// line is the queue of one path. The whole path is in its descriptions, so that a registry
// takes several collectors, and finds a path that two of them have at once.
type line struct {
	path                                      string // below the session's chroot
	readable, holders, waiters, position, age *prometheus.Desc

	mu   sync.Mutex // guards last; nothing is locked under it
	last state
}

// state is what was known of a queue at a time, which is 0 if nothing is.
type state struct {
	at               time.Time
	holders, waiters int
	position         int // of the session's first waiter; negative if none waits
}

func newLine(s *zklock.Session, path string) *line {
	whole := path
	if l, err := zklock.New(s, path); err == nil { // else it can never be read
		whole = l.Path()
	}
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, nil, prometheus.Labels{"path": whole})
	}
	return &line{
		path:     path,
		readable: describe("zklock_queue_readable", "Whether the queue could be read, 1 or 0."),
		holders:  describe("zklock_queue_holders", "Holds of the lock, by all processes; permits of a semaphore."),
		waiters:  describe("zklock_queue_waiters", "Contenders that wait for the lock, of all processes."),
		position: describe("zklock_queue_position", "How many wait ahead of this session's first waiter; missing if none waits."),
		age:      describe("zklock_queue_age_seconds", "How old the state is that the others tell: 0 if it was read for this scrape."),
	}
}

func (l *line) collect(ctx context.Context, s *zklock.Session, metrics chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	known, isNew := l.read(ctx, s)
	readable, age := 0., time.Since(known.at)
	if isNew {
		readable, age = 1, 0
	}
	gauge(l.readable, readable)
	if known.at.IsZero() {
		return
	}
	gauge(l.age, age.Seconds())
	gauge(l.holders, float64(known.holders))
	gauge(l.waiters, float64(known.waiters))
	if known.position >= 0 {
		gauge(l.position, float64(known.position))
	}
}

// read returns the queue's state, or the last known one.
func (l *line) read(ctx context.Context, s *zklock.Session) (known state, isNew bool) {
	found := state{at: time.Now(), position: -1}
	contenders, err := zklock.Inspect(ctx, s, l.path)
	for _, c := range contenders {
		if c.Held {
			found.holders++
			continue
		}
		if found.position < 0 && c.Session == s.ID() {
			found.position = found.waiters
		}
		found.waiters++
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !found.at.Before(l.last.at) { // scrapes may overtake each other
		l.last = found
	}
	return l.last, err == nil
}
