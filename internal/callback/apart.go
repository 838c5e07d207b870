package callback

// Apart runs f, which calls code of the user, in a goroutine of its own and returns when that
// has ended, be it by runtime.Goexit: the caller is a goroutine that is needed on. A panic of f
// ends the process, as in any goroutine.
func Apart(f func()) { <-Begin(f) }

// Begin is Apart that does not wait: it returns a channel that closes when f has ended.
func Begin(f func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	return ended
}
