package callback

import "sync"

// Serial runs functions of the user one at a time, in the order in which they were added. One
// that panics keeps none of the others from being run.
type Serial struct {
	mu    sync.Mutex // guards the fields below; nothing is locked under it
	todo  []func()
	Taken bool // by whoever has to call Run, or is at it
}

// Add reports whether the caller has to see to it that Run is called.
func (q *Serial) Add(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.todo = append(q.todo, f)
	idle := !q.Taken
	q.Taken = true
	return idle
}

// Len returns how many functions wait to be run.
func (q *Serial) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.todo)
}

// next returns the next function, nil if there is none and Run is over.
func (q *Serial) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.todo) == 0 {
		q.todo, q.Taken = nil, false
		return nil
	}
	f := q.todo[0]
	q.todo = q.todo[1:]
	return f
}

// Run runs what was added, and what is added meanwhile.
func (q *Serial) Run() {
	done := false
	defer func() {
		if !done {
			q.Run()
		}
	}()
	for f := q.next(); f != nil; f = q.next() {
		f()
	}
	done = true
}
