//go:build unix

package job

import (
	"cmp"
	"errors"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the process group of a command, and what has left it. While one of its
// processes lives its number is not given to another.
type group struct {
	id     int // of the group, and of the process that leads it; 0 until that has been started
	ended  bool
	status syscall.WaitStatus // of the leader, once it has ended
	void   bool               // nothing of it is left, or it has not been started: the number is not the group's
	others []int              // what descends from us and is not the command's

	ending syscall.Signal // by which all of it is to end; 0 if it may go on
	told   []int          // the strays that have got that
}

// begun is what has come of the start of a process.
type begun struct {
	id  int // of it, and of its group
	err error
}

// start has execute start a process, and tells what has come of it. Its thread is kept until over
// is closed, for good if that is nil: the kernel counts the death of that thread as ours.
func start(execute func() (id int, err error), over <-chan struct{}) <-chan begun {
	told := make(chan begun, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		id, err := execute()
		told <- begun{id, err}
		<-over
		forgetChildren()
	}()
	return told
}

// execute runs the command as the leader of a new process group, in the foreground
// of tty if that is ours to give. It returns when execve does, for which a file server, or
// a scanner of viruses, may take any time.
func execute(c Command, tty *terminal) (id int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	foreground := tty.offered()
	if foreground {
		attr.Foreground, attr.Ctty = true, tty.fd
	}
	dieWithParent(attr, c.Orphaned)
	if err := cmp.Or(adoptOrphans(), listChildren()); err != nil {
		return 0, &ExecError{Name: c.Args[0], Err: err}
	}
	ignoreTTOU := lendTTOU()
	defer ignoreTTOU()
	defer spareThread()()
	if !c.Valid() { // as late as possible
		return 0, ErrLost
	}
	id, err = syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Env:   c.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attr,
	})
	if err != nil {
		ignoreTTOU()
		if foreground {
			tty.take()
		}
		return 0, &ExecError{Name: c.Args[0], Err: explained(c.Path, err)}
	}
	if foreground {
		tty.lent = true
	}
	return id, nil
}

// spareThread has the others run while this thread waits for execve, until goOn is called: Go
// does not take its processor from it, and the garbage collector would wait for it with all others
// stopped.
func spareThread() (goOn func()) {
	processors := runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	percent := debug.SetGCPercent(-1)
	runtime.GC() // the last, behind one that was about to begin when there were limits yet
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(processors)
	}
}

// signal sends sig to every process of the group, and to those of its session that
// have lost whoever looked after them.
func (g *group) signal(sig syscall.Signal) { g.send(sig, inOurSession) }

// end is signal for one by which all is to end: for daemons as well, for a process that is stopped,
// and, from endStrays, for who loses its parent later.
func (g *group) end(sig syscall.Signal) {
	g.ending, g.told = sig, g.send(sig, anywhere)
	g.send(syscall.SIGCONT, anywhere)
}

// endStrays has those end who have lost their parent since the last time.
func (g *group) endStrays() {
	if g.ending == 0 {
		return
	}
	strays := g.strays()
	for _, pid := range strays {
		if !slices.Contains(g.told, pid) {
			_ = unix.Kill(pid, g.ending)
			_ = unix.Kill(pid, syscall.SIGCONT)
		}
	}
	g.told = strays
}

// send returns the strays of before the signal: those that it makes do not get it too.
func (g *group) send(sig syscall.Signal, to func(stray int) bool) (strays []int) {
	strays = g.strays()
	g.sendGroup(sig)
	for _, pid := range strays {
		if to(pid) {
			_ = unix.Kill(pid, sig)
		}
	}
	return strays
}

// sendGroup sends sig to every process that is in the group.
func (g *group) sendGroup(sig syscall.Signal) {
	if !g.void {
		_ = unix.Kill(-g.id, sig) // there may be nobody that is ours to signal
	}
}

// strays returns our children that are not in the group: the leader if it has left
// it, and those that we have adopted.
func (g *group) strays() (pids []int) {
	all, known := g.children()
	if !known && !g.ended && !g.void {
		all = []int{g.id}
	}
	for _, pid := range all {
		if of, err := unix.Getpgid(pid); err == nil && (g.void || of != g.id) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends every process that is left of the command, wherever it is now.
func (g *group) kill() {
	g.sendGroup(unix.SIGKILL)
	family, _ := g.family()
	for _, pid := range family {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// family returns what descends from this process and is the command's, and reports whether
// that is known to be all.
func (g *group) family() (pids []int, all bool) {
	pids, all = g.children()
	for next := pids; len(next) > 0; next = next[1:] {
		of, known := children(next[0])
		pids, next, all = append(pids, of...), append(next, of...), all && known
	}
	return pids, all
}

// children returns those of the command that are this process's.
func (g *group) children() (pids []int, known bool) {
	pids, known = children(os.Getpid())
	return slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(g.others, pid) }), known
}

// reap takes note of the processes that have ended. It returns the signal by which
// the group was stopped, SIGCONT if it was continued, and 0 if neither.
func (g *group) reap() (event syscall.Signal) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED|continued, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD):
			g.ended = true // somebody else's child, if it was not seen to end
			return event
		case err != nil || pid == 0:
			return event
		case !g.speaksFor(pid):
		case status.Stopped():
			event = status.StopSignal()
		case status.Continued():
			event = syscall.SIGCONT
		case pid == g.id:
			g.ended, g.status = true, status
		}
	}
}

// speaksFor reports whether what happens to the process speaks for the group: to the
// leader, or, when that has ended, to any of it.
func (g *group) speaksFor(pid int) bool {
	if !g.ended {
		return pid == g.id
	}
	of, err := unix.Getpgid(pid)
	return err == nil && of == g.id
}

// gone reports whether nothing is left of the command that it has not put into a
// session of its own, as daemons are; if everything, not even that. A zombie whose
// parent does not look after it is nothing.
func (g *group) gone(everything bool) bool {
	if !g.ended {
		return false
	}
	g.void = g.void || errors.Is(unix.Kill(-g.id, 0), unix.ESRCH)
	if !listsChildren() {
		return g.void
	}
	// In a PID namespace that it has entered one of the group has another parent there, and is not ours.
	return nothingLeft(g.others, everything) && (g.void || len(members(g.id)) == 0)
}

// anywhere is for a signal that daemons get as well.
func anywhere(int) bool { return true }

// inOurSession reports whether the process is in the session of this one.
func inOurSession(pid int) bool {
	own, _ := unix.Getsid(0)
	session, err := unix.Getsid(pid)
	return err == nil && session == own
}

// ignoresTTOU reports whether this process was started to ignore SIGTTOU.
var ignoresTTOU = signal.Ignored(syscall.SIGTTOU)

// lendTTOU has a command that is started do at SIGTTOU what this process was started
// to do, until goOn is called: it ignores the signal itself.
func lendTTOU() (goOn func()) {
	if !ignoresTTOU {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTTOU)
	}
	return func() { signal.Ignore(syscall.SIGTTOU) }
}
