package worker

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/zklock/zklock/bench/internal/line"
	"github.com/zklock/zklock/bench/internal/result"
)

// A queue is a lock that is held, and goroutines of several sessions that wait
// for it, or an election. Once it is drained they pass it on until enough
// hand-overs were timed; the rest wait until their sessions are closed.
type queue struct {
	members  sync.WaitGroup
	empty    weight        // of the process, when nobody waited yet
	begin    chan struct{} // closed by drain
	closed   chan struct{} // closed when the sessions are
	hold     time.Duration
	operator *operator     // who ends a turn, if not the one whose turn it is
	audience audience      // who has to hear of a hand-over, if anybody
	finished chan struct{} // closed when enough hand-overs were timed

	mu       sync.Mutex
	wanted   int
	last     int // the session that released last
	released time.Time
	times    []time.Duration
}

// A stand is a place in a queue: it calls serve when its turn has come, and gives
// the turn back when serve has returned without an error.
type stand func(serve func() error) error

// enqueue takes the lock and sends the waiters for it. It does not wait until
// they stand in the queue: the server knows that better.
func (w *worker) enqueue(clients []client, m line.Message) (numbers, error) {
	if err := rouse(clients, m.Fields["path"]+"-other"); err != nil {
		return nil, err
	}
	return w.lineUp(clients, m, func(c client) (stand, error) {
		lock, err := own(c, m)
		return lock.during, err
	})
}

// lineUp has the first of some stands be served and the others wait, which are
// spread over the clients.
func (w *worker) lineUp(clients []client, m line.Message, standing func(client) (stand, error)) (_ numbers, err error) {
	stands := make([]stand, 1+m.Int("waiters"))
	for i := range stands {
		if stands[i], err = standing(clients[i%len(clients)]); err != nil {
			return nil, err
		}
	}
	q := &queue{begin: make(chan struct{}), closed: make(chan struct{}), finished: make(chan struct{})}
	w.queue = q
	held := make(chan error, 2)
	q.members.Go(func() {
		held <- stands[0](func() error {
			held <- nil
			return q.lead()
		})
	})
	if err := <-held; err != nil {
		return nil, err
	}
	q.empty = weighProcess()
	for i, stand := range stands[1:] {
		session := (i + 1) % len(clients)
		q.members.Go(func() {
			_ = stand(func() error { return q.serve(session) }) // the queue is closed, or drain says that nothing comes
		})
	}
	return nil, nil
}

// rouse has every session take a lock, so that it has its buffers before the
// process is weighed.
func rouse(clients []client, path string) error {
	for _, c := range clients {
		lock, err := c.mutex(path, "")
		if err != nil {
			return err
		}
		if err := lock.lock(); err != nil {
			return err
		}
		if err := lock.unlock(); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("the queue is closed")

// lead is the first turn, which lasts until the queue is drained or closed.
func (q *queue) lead() error {
	select {
	case <-q.begin:
		return q.pass(0)
	case <-q.closed:
		return errClosed
	}
}

// serve is a turn of one who has waited.
func (q *queue) serve(session int) error {
	if !q.granted(session) {
		<-q.closed
		return errClosed
	}
	time.Sleep(q.hold)
	return q.pass(session)
}

// drain lets the lock go from waiter to waiter, each of which holds it for a
// moment, and returns the median time from a release to the grant, if that is
// in another session.
func (w *worker) drain(m line.Message) (numbers, error) {
	q := w.queue
	if q == nil {
		return nil, errors.New("there is no queue")
	}
	q.wanted, q.hold = m.Int("count"), time.Duration(m.Int("hold_us"))*time.Microsecond
	if m.Fields["operator"] != "" {
		if err := w.hire(m); err != nil {
			return nil, err
		}
	}
	close(q.begin)
	select {
	case <-q.finished:
	case <-time.After(time.Minute):
		return nil, errors.New("the lock was not handed over so often within a minute")
	}
	return numbers{"ns": float64(result.Median(q.times))}, nil
}

// close lets the members go, whose sessions are closed. It does not insist: a
// request of go-zookeeper's may stay unanswered when its connection is closed,
// and a zk.Lock waits for it.
func (q *queue) close() {
	close(q.closed)
	q.operator.close()
	gone := make(chan struct{})
	go func() {
		q.members.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(time.Second):
	}
}

// pass ends a turn: the operator does, or the one whose turn it is by returning.
func (q *queue) pass(session int) error {
	end, err := q.operator.prepare()
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.last, q.released = session, time.Now()
	q.mu.Unlock()
	return end()
}

// granted notes a hand-over and reports whether the turn is to be passed on.
func (q *queue) granted(session int) bool {
	q.awaitAudience()
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.times) == q.wanted {
		return false
	}
	if session != q.last {
		q.times = append(q.times, now.Sub(q.released))
	}
	if len(q.times) == q.wanted {
		close(q.finished)
		return false
	}
	return true
}

// weight is what a process takes up.
type weight struct{ heap, stacks, goroutines float64 }

func weighProcess() weight {
	runtime.GC()
	runtime.GC() // what finalizers and pools kept
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return weight{
		heap:       float64(memory.HeapAlloc),
		stacks:     float64(memory.StackInuse),
		goroutines: float64(runtime.NumGoroutine()),
	}
}

// weigh returns what the waiters take up together, the goroutines that called
// lock included.
func (w *worker) weigh(m line.Message) (numbers, error) {
	if w.queue == nil {
		return nil, errors.New("there is no queue")
	}
	now, before := weighProcess(), w.queue.empty
	if w.profiles != "" {
		if err := writeAllocations(w.profile(m)); err != nil {
			return nil, err
		}
	}
	return numbers{
		"heap":       now.heap - before.heap,
		"stacks":     now.stacks - before.stacks,
		"goroutines": now.goroutines - before.goroutines,
	}, nil
}
