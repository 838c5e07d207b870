//go:build unix

// Package job runs a command as a shell runs a job: in a process group of its own,
// which has the terminal while it is in the foreground, stops and goes on with the
// process that started it, and is over when no process of it is left.
package job
