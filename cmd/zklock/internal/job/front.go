//go:build unix

package job

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Front is the process that the shell sees.
type Front struct {
	// Args returns the keeper's command line. The keeper finds the front behind
	// the descriptor.
	Args func(descriptor int) []string

	// Ending is sent to the command if the keeper dies: see [Command].
	Ending syscall.Signal

	Log *slog.Logger
}

// KeeperError says that the keeper has died, and the command's right to run with it.
type KeeperError struct{ Status syscall.WaitStatus }

func (e *KeeperError) Error() string {
	if e.Status.Signaled() {
		return "the process that held the lock was killed by " + name(e.Status.Signal())
	}
	return fmt.Sprintf("the process that held the lock has failed with exit code %d", e.Status.ExitStatus())
}

// Run starts the keeper, passes signals on to it, and returns its exit code. An
// [*Interrupted] says that the keeper was killed before there was a command; any other
// error than a [*KeeperError], that there was no keeper. It is the last thing that its
// process does.
func (f *Front) Run() (code int, err error) {
	if err := leaveTraces(); err != nil {
		return 0, err
	}
	dieAtOnce()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGCHLD)
	defer signal.Stop(changes)
	signals := make(chan os.Signal, 16)
	Catch(signals, passed) // before there can be a command
	defer signal.Stop(signals)
	tty := openTerminal(unix.Getpgrp()) // before the command can change its modes
	defer tty.close()
	if err := adoptOrphans(); err != nil { // to end what a killed keeper leaves
		return 0, err
	}
	others, _ := new(group).family() // of a shell that has become this process by exec
	conn, started, err := f.start()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	w := &watch{Front: f, conn: conn, said: receive(conn), tty: tty, others: others, changes: changes, signals: signals}
	keeper, err := w.awaitStart(started)
	if err != nil {
		return 0, err
	}
	return w.over(w.awaitEnd(keeper))
}

// watch is the front's on its keeper.
type watch struct {
	*Front
	conn    *os.File // to the keeper
	said    *report
	tty     *terminal
	others  []int // processes that were there before
	changes <-chan os.Signal
	signals chan os.Signal
}

// awaitStart returns the keeper when it has been started, which may take a while.
func (w *watch) awaitStart(started <-chan begun) (keeper int, err error) {
	starting := &group{void: true, others: w.others}
	for {
		select {
		case b := <-started:
			return b.id, b.err
		case sig := <-w.signals:
			w.pass(sig)
			if Ends(sig) {
				starting.signal(sig.(syscall.Signal))
			}
		case <-w.changes:
		}
		starting.signal(syscall.SIGCONT) // it may have been stopped
	}
}

// awaitEnd passes signals on to the keeper until it has ended.
func (w *watch) awaitEnd(keeper int) syscall.WaitStatus {
	for {
		status, changed := wait(keeper)
		switch {
		case changed && status.Stopped():
			_ = unix.Kill(keeper, unix.SIGCONT) // nobody else looks after the lock
		case changed:
			return status
		}
		select {
		case sig := <-w.signals:
			w.pass(sig)
		case <-w.changes:
		}
	}
}

// pass tells the keeper of a signal. One that is gone is noticed by its end.
func (w *watch) pass(sig os.Signal) { _, _ = w.conn.Write([]byte{byte(sig.(syscall.Signal))}) }

// over does what the keeper has left to do, and returns what Run does.
func (w *watch) over(status syscall.WaitStatus) (code int, err error) {
	noMore(w.conn)
	<-w.said.over
	code = status.ExitStatus()
	switch {
	case status.Signaled() && !w.said.began: // perhaps by what was meant for us as well, before it knew to heed none
		return 0, &Interrupted{status.Signal()}
	case w.said.Over && code != int(w.said.Code): // and it had nothing left to do but keep the lock, and give it back
		w.Log.Warn("the command has ended, and the lock was not given back", "error", &KeeperError{status})
		code = int(w.said.Code)
	case w.said.Running || !status.Exited():
		w.end(w.said.left())
		return 0, &KeeperError{status}
	}
	if w.said.Interrupted {
		interrupted(w.tty, code)
	}
	return code, nil
}

// noMore ends what is read from the keeper with what it has said: a command that is not executed
// yet has its end of the connection too.
func noMore(conn *os.File) {
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) })
	}
}

// interrupted ends this process by the key that has ended the keeper, if it was one, as
// a shell expects it that runs a script: it goes on with the next line otherwise.
func interrupted(tty *terminal, code int) {
	if code == bySignal+int(syscall.SIGINT) && tty.ours() && !signal.Ignored(syscall.SIGINT) {
		signal.Reset(syscall.SIGINT)
		_ = unix.Kill(unix.Getpid(), unix.SIGINT)
		time.Sleep(time.Second) // it has come long before
	}
}

// executable returns the file that this process executes.
func executable() (string, error) {
	if path, err := os.Executable(); err == nil {
		return path, nil
	}
	return Find(os.Args[0]) // there is no /proc
}

// start starts the keeper, and returns the connection to it.
func (f *Front) start() (conn *os.File, started <-chan begun, err error) {
	executable, err := executable()
	if err != nil {
		return nil, nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(pair[0])
	_ = unix.SetNonblock(pair[0], true) // for Close to end a Read
	started = start(func() (keeper int, err error) {
		defer unix.Close(pair[1])
		defer spareThread()()
		if err := listChildren(); err != nil {
			return 0, err
		}
		keeper, err = syscall.ForkExec(executable, f.Args(pair[1]), &syscall.ProcAttr{
			Env:   os.Environ(),
			Files: []uintptr{0, 1, 2},
			Sys:   &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			err = fmt.Errorf("start %s: %w", executable, err)
		}
		return keeper, err
	}, nil)
	return os.NewFile(uintptr(pair[0]), "keeper"), started, nil
}

// commandState is what the keeper tells of the command.
type commandState struct {
	Running   bool          // there is one, or is about to be
	KillAfter time.Duration // see [Command]
	Ending    bool          // it has been told to end, and KillAfter counts from then on
	Group     int32         // its process group; 0 if it may not have been started, or is gone
	Over      bool          // it has ended by itself, with Code
	Code      int32

	// Interrupted says that SIGINT has ended it, or the wait for the right to run. One that
	// exits with the same code has dealt with the key by itself.
	Interrupted bool
}

// report is what the keeper has said last until it died.
type report struct {
	commandState
	began  bool          // there has been a command, and there will be no other
	ending time.Time     // since when it is being ended
	over   chan struct{} // closed when the keeper is dead
}

// left returns the state of which this process has to end what is left. The time for that does not
// begin anew.
func (r *report) left() commandState {
	n := r.commandState
	if n.Ending {
		n.KillAfter = max(0, n.KillAfter-time.Since(r.ending))
	}
	return n
}

// receive listens to the keeper.
func receive(conn io.Reader) *report {
	r := &report{over: make(chan struct{})}
	go func() {
		defer close(r.over)
		var n commandState
		for binary.Read(conn, binary.NativeEndian, &n) == nil {
			if n.Ending && !r.Ending {
				r.ending = time.Now()
			}
			r.commandState, r.began = n, n.Running || r.began && n != commandState{}
		}
	}()
	return r
}

// wait takes note of the children that have ended, and reports what has become of
// one of them, if anything has.
func wait(child int) (status syscall.WaitStatus, changed bool) {
	for {
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || pid == 0:
			return status, false
		case pid == child:
			return status, true
		}
	}
}

// killed is the status of a command that is not seen to end otherwise.
const killed = syscall.WaitStatus(syscall.SIGKILL)

// end ends the command of a keeper that has died, as after any loss.
func (w *watch) end(n commandState) {
	if !n.Running {
		return
	}
	command := &group{id: int(n.Group), void: n.Group == 0, others: w.others, status: killed}
	command.ended = command.void || unix.Kill(command.id, 0) == unix.ESRCH // the keeper has seen it
	signal.Ignore(syscall.SIGTTOU)                                         // to take the terminal from the background
	if w.tty != nil {
		w.tty.lent = true // perhaps: the keeper knew
	}
	s := &supervisor{
		command: Command{Ending: w.Ending, KillAfter: func() time.Duration { return n.KillAfter }, Valid: func() bool { return false }},
		group:   command, tty: w.tty, master: new(Master), signals: w.signals, log: w.Log,
	}
	s.end()                // before it is seen to have ended with the keeper: it is no end of its own
	s.reap()               // the signal that told of the keeper may have told of the command too
	_ = s.watch(w.changes) // it has been started
	s.leaveTerminal()
}
