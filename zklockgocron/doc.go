// Package zklockgocron has several instances of a gocron scheduler run each job once, by zklock:
//
//	locker, err := zklockgocron.NewLocker(session, "/app/jobs", 10*time.Second)
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//
// A [Locker] shares the jobs out: whoever is first runs one, the others skip it. With an [Elector] one
// instance runs them all. Two that differ in their clocks never run a job twice with a Locker, if the
// time that it is given suits; with an Elector they may when the leadership moves.
//
// Jobs are told apart by their names. gocron calls a job by its function, which may be another one in
// the next version of a program: name jobs by [gocron.WithName].
//
// A run that is going on hears nothing of a lock or a leadership that is lost. A job that must never
// run beside another one's takes a lock by itself, in its function, by [zklock.Locker.Do].
package zklockgocron
