//go:build unix

// Package job runs a command as a shell runs a job: in a process group of its own,
// which has the terminal while it is in the foreground, stops and goes on with the
// process that started it, and is over when nothing of it is left.
//
// Two processes do it. The [Front] is the one that the shell has started: it may be
// stopped, and killed. The keeper, which it starts and which sees it as [Master],
// holds the lock and is the command's parent: it is in a process group of its own,
// out of reach of what stops the front, so that the lock is looked after for as long
// as the command lives. Each of them ends the command when the other has died.
package job
