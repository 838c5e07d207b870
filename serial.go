package zklock

import "sync"

// serial runs functions of the user one at a time, in the order in which they were
// added. One that does not return, because it panics or ends its goroutine by
// runtime.Goexit, keeps none of the others from being run.
type serial struct {
	mu    sync.Mutex
	todo  []func()
	taken bool // by whoever has to call run, or is at it
}

// add reports whether the caller has to see to it that run is called.
func (q *serial) add(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.todo = append(q.todo, f)
	idle := !q.taken
	q.taken = true
	return idle
}

// next returns the next function, nil if there is none and run is over.
func (q *serial) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.todo) == 0 {
		q.todo, q.taken = nil, false
		return nil
	}
	f := q.todo[0]
	q.todo = q.todo[1:]
	return f
}

func (q *serial) run() {
	done := false
	defer func() {
		if !done {
			q.run()
		}
	}()
	for f := q.next(); f != nil; f = q.next() {
		f()
	}
	done = true
}
