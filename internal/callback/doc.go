// Package callback calls code of the user, which may block, panic or end its goroutine, so that
// none of that happens to whoever has something to tell.
package callback
