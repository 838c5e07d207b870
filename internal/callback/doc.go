// Package callback calls code of the user, which may block or panic, so that neither happens to
// whoever has something to tell.
package callback
