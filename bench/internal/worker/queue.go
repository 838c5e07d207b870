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
// for it. Once it is drained they pass it on until enough hand-overs were
// timed; the rest wait until their sessions are closed.
type queue struct {
	members  sync.WaitGroup
	empty    weight        // of the process, when nobody waited yet
	begin    chan struct{} // closed by drain
	closed   chan struct{} // closed when the sessions are
	hold     time.Duration
	finished chan struct{} // closed when enough hand-overs were timed

	mu       sync.Mutex
	wanted   int
	last     int // the session that released last
	released time.Time
	times    []time.Duration
}

// enqueue takes the lock and sends the waiters for it. It does not wait until
// they stand in the queue: the server knows that better.
func (w *worker) enqueue(clients []client, m line.Message) (_ numbers, err error) {
	if err := rouse(clients, m.Fields["path"]+"-other"); err != nil {
		return nil, err
	}
	locks := make([]mutex, 1+m.Int("waiters"))
	for i := range locks {
		if locks[i], err = own(clients[i%len(clients)], m); err != nil {
			return nil, err
		}
	}
	q := &queue{begin: make(chan struct{}), closed: make(chan struct{}), finished: make(chan struct{})}
	w.queue = q
	held := make(chan error)
	q.members.Go(func() {
		err := locks[0].lock()
		held <- err
		if err == nil {
			q.lead(locks[0])
		}
	})
	if err := <-held; err != nil {
		return nil, err
	}
	q.empty = weighProcess()
	for i, lock := range locks[1:] {
		session := (i + 1) % len(clients)
		q.members.Go(func() {
			if lock.lock() != nil || !q.granted(session) {
				return // the queue is closed, or nobody counts any more
			}
			time.Sleep(q.hold)
			q.pass(lock, session)
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

// lead holds the lock until the queue is drained or closed.
func (q *queue) lead(lock mutex) {
	select {
	case <-q.begin:
		q.pass(lock, 0)
	case <-q.closed:
	}
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

// pass gives the lock back.
func (q *queue) pass(lock mutex, session int) {
	q.mu.Lock()
	q.last, q.released = session, time.Now()
	q.mu.Unlock()
	_ = lock.unlock() // the next one would wait in vain, and drain say so
}

// granted notes a hand-over and reports whether the lock is to be passed on.
func (q *queue) granted(session int) bool {
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
