package zklock

import "fmt"

// unmade is what is wrong with a nil pointer, or with a zero value, on which a method is
// called. Values that can be used are made by their constructors alone.
func unmade(what, constructor string) error {
	return fmt.Errorf("the %s is nil or a zero value: make it with %s", what, constructor)
}

// made returns what is wrong with a side that no constructor has made, as the error of op.
func (s *side) made(op string) error {
	if s != nil && s.queue != nil {
		return nil
	}
	return wrap(op, "", unmade("lock", "New or NewRW"))
}

func (s *Semaphore) made(op string) error {
	if s != nil && s.queue != nil {
		return nil
	}
	return wrap(op, "", unmade("Semaphore", "NewSemaphore"))
}

func (m *MultiLocker) made(op string) error {
	if m != nil && len(m.lockers) > 0 {
		return nil
	}
	return wrap(op, "", unmade("MultiLocker", "NewMulti"))
}

// made returns what is wrong with a session that Connect has not made.
func (s *Session) made() error {
	if s != nil && s.client != nil {
		return nil
	}
	return unmade("session", "Connect")
}

// must returns the session to a call that returns no error.
func (s *Session) must(op string) *Session {
	must(wrap(op, "", s.made()))
	return s
}

// made returns why a hold that is none, such as that of a goroutine that has not locked, is of
// no use to op.
func (h *Hold) made(op string) error {
	if h != nil && h.hold.Of != nil {
		return nil
	}
	return wrap(op, "", fmt.Errorf("the Hold is nil or a zero value: %w", ErrNotHeld))
}

func (h *MultiHold) made(op string) error {
	if h != nil && len(h.holds) > 0 {
		return nil
	}
	return wrap(op, "", fmt.Errorf("the MultiHold is nil or a zero value: %w", ErrNotHeld))
}

// must panics with what a call cannot return.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
