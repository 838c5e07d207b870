package wire

// Provided is what a function of the user's returns anew for each connection. What cannot be had
// just then is as it was last.
type Provided[T any] struct {
	get     func() (T, error)
	message string // for the log, when it could not be had
	last    T
	failed  string // why it could not be had last; "" if it could
}

// Provide returns what get provides, which it asks once at first.
func Provide[T any](message string, get func() (T, error)) (*Provided[T], error) {
	first, err := get()
	return &Provided[T]{get: get, message: message, last: first}, err
}

// Last returns what was provided last; nothing of none.
func (p *Provided[T]) Last() (last T) {
	if p != nil {
		last = p.last
	}
	return last
}

// next returns it for another connection, and tells the log, once, why it is as it was.
func (p *Provided[T]) next(log Log) T {
	now, err := p.get()
	switch {
	case err == nil:
		p.last, p.failed = now, ""
	case p.failed != err.Error():
		p.failed = err.Error()
		log.Warn(p.message, "error", err)
	}
	return p.last
}
