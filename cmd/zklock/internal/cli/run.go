package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/internal/latch"
)

// run is one use of the run command.
type run struct {
	guarded
	lockFlags
	conflictCode int
	quiet        bool
	atLeast      duration // for which the lock is kept
}

const runText = `Run takes the lock on PATH, waiting for its turn, runs the command, and gives the lock
back when nothing of the command is left. The command is executed as it is, by no shell,
with our standard input, output and error, in a process group of its own, which has the
terminal if we are alone in the foreground. Signals are passed on to it. While we are
stopped the command is too, and the lock is kept.

The command finds in its environment ZKLOCK_PATH, ZKLOCK_NODE (the lock's node),
ZKLOCK_TOKEN (the fencing token: a number that grows with each holder) and
ZKLOCK_SESSION.

With --hold-at-least the lock is kept for that long from when we had it, and we stay for as
long: a command that several machines start at about the same time, with --nonblock, runs
once though it takes less time than their clocks differ. A signal that comes when the
command has ended gives the lock back at once; the exit code stays the command's.

If the lock is lost, the command is sent SIGTERM, and all that is left of it SIGKILL
after --kill-after.`

const runExample = `  zklock run /locks/backup -- pg_dump -f /backup/db.sql db
  zklock run --nonblock -E 0 --hold-at-least 30s /locks/report -- ./report.sh
  zklock run --timeout 30s --shared /locks/index -- ./search.sh
  zklock run --limit 4 /locks/encoders -- ffmpeg -i in.mov out.mp4`

func newRun() *cobra.Command {
	r := new(run)
	cmd := &cobra.Command{
		Use:     "run [flags] PATH -- COMMAND [ARG...]",
		Short:   "Run a command while holding a lock",
		Long:    runText + exitCodes(runExits),
		Example: runExample,
		Args:    r.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.log = r.logger(cmd); r.quiet {
				r.log = slog.New(slog.DiscardHandler)
			}
			if !cmd.Flags().Changed(frontFlag) {
				return r.start()
			}
			return r.keep(cmd.Context())
		},
	}
	r.guarded.flags(cmd)
	r.lockFlags.flags(cmd)
	cmd.Flags().IntVarP(&r.conflictCode, "conflict-exit-code", "E", exitConflict, "exit `code` when the lock was not to be had; with 0, nothing is said of it")
	cmd.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "say nothing of a lock that was not to be had, and give no warnings")
	cmd.Flags().Var(&r.atLeast, "hold-at-least", "keep the lock, and stay, for this long from when we had it, however short the command")
	r.onLost = oneOf("term", "kill", "ignore")
	r.onLost.add(cmd, "on-lost", "what to do with the command when the lock is lost")
	cmd.Flags().IntVar(&r.exitCode, "lost-exit-code", exitLost, "exit `code` when the lock was lost before the command had ended")
	r.onRevoke = oneOf("ignore", "term")
	r.onRevoke.add(cmd, "on-revoke", "what to do with the command when somebody asks for the lock back")
	return cmd
}

func (r *run) arguments(cmd *cobra.Command, args []string) error {
	if err := r.guarded.arguments(cmd, args); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		code int
	}{{"conflict-exit-code", r.conflictCode}, {"lost-exit-code", r.exitCode}} {
		if f.code < 0 || f.code > 255 {
			return usage("--%s %d: it must be from 0 to 255", f.name, f.code)
		}
	}
	return cmp.Or(r.lockFlags.check(cmd), notTogether(cmd, "quiet", verboseFlag))
}

// keep takes the lock, runs the command and gives the lock back.
func (r *run) keep(ctx context.Context) error {
	master, executable, err := r.begin()
	if err != nil {
		return err
	}
	session, hold, err := r.enter(ctx, master.Signals)
	if err != nil {
		master.Failed(err)
		if codeOf(err) == exitConflict {
			return r.conflict(err)
		}
		return err
	}
	granted := time.Now()
	r.heedRevocation(hold, master.Signals)
	go r.tellSince(session, hold, granted)
	result, err := job.Run(r.command(executable, session, hold, master), master, r.log)
	lost := errors.Is(err, job.ErrLost) || result.Lost
	if err == nil && !lost && !master.Died() { // nobody would pass us a signal
		r.outlast(ctx, hold, granted, master.Signals)
	}
	r.leave(ctx, session, hold, master.Signals)
	switch {
	case master.Died():
		return exitWith(exitFailure) // nobody asks
	case lost:
		return withCode(r.exitCode, fmt.Errorf("run %s: the lock was lost before the command had ended", r.path))
	case err != nil:
		return err
	}
	return exitWith(result.ExitCode())
}

// conflict is how run ends when somebody else has the lock. Who has asked for 0 does not take that
// for a failure.
func (r *run) conflict(err error) error {
	if r.tellsConflict() {
		return withCode(r.conflictCode, err)
	}
	r.log.Info("the lock was not to be had", "error", err)
	return exitWith(r.conflictCode)
}

func (r *run) tellsConflict() bool { return !r.quiet && r.conflictCode != 0 }

// outlast returns when the lock was held for as long as it has to be, at a signal, when somebody
// asks for it back who is to have it, or when it is lost.
func (r *run) outlast(ctx context.Context, hold *zklock.Hold, granted time.Time, signals <-chan os.Signal) {
	left := r.atLeast.Duration - time.Since(granted)
	if left <= 0 || r.isAsked(hold) {
		return
	}
	r.log.Info("the command has ended: the lock is kept", "for", left)
	ctx, stop := interruptible(ctx, signals)
	defer stop()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-hold.Context().Done():
	}
}

// enter connects and takes the lock. A signal ends the wait.
func (r *run) enter(ctx context.Context, signals <-chan os.Signal) (*zklock.Session, *zklock.Hold, error) {
	signalled, stop := interruptible(ctx, signals)
	ctx = signalled
	if r.wait.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.wait.Duration)
		defer cancel()
	}
	session, err := r.join(ctx)
	if err != nil {
		return nil, nil, cmp.Or(stop(), err)
	}
	asked := time.Now()
	hold, err := r.await(ctx, session)
	switch {
	case err == nil:
		err = r.checkReadable(ctx, session, hold)
	case codeOf(err) == exitConflict && r.tellsConflict():
		err = namingHolder(signalled, session, r.path, err)
	}
	if err = cmp.Or(stop(), err); err != nil {
		if hold != nil { // it came as the signal did, or its node cannot be read
			over, end := context.WithCancel(ctx)
			end() // its delete goes out ahead of the session's end
			_ = hold.Release(over)
		}
		session.Close()
		return nil, nil, err
	}
	r.log.Info("the lock is ours", "node", hold.Node(), "token", hold.Token(), "waited", time.Since(asked))
	return session, hold, nil
}

// await takes the lock, and with -v says how the wait goes.
func (r *run) await(ctx context.Context, session *zklock.Session) (*zklock.Hold, error) {
	options := append(r.acl.options(), zklock.WithLossGrace(r.lossGrace(session)))
	if !r.log.Enabled(ctx, slog.LevelInfo) {
		return r.take(ctx, session, r.path, options...)
	}
	p := newProgress(session, r.path, r.log)
	reporting, stop := context.WithCancel(ctx)
	var reported sync.WaitGroup
	reported.Go(func() { p.report(reporting) })
	defer reported.Wait()
	defer stop()
	return r.take(ctx, session, r.path, append(options, p.option())...)
}

// leave gives the lock back. If no server can be reached it gives up when the
// session, and the lock with it, must have ended, or at a signal.
func (r *run) leave(ctx context.Context, session *zklock.Session, hold *zklock.Hold, signals <-chan os.Signal) {
	ctx, stop := interruptible(ctx, signals)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	released := hold.Release(ctx)
	closed := session.Close() // gives back what Release could not
	switch {
	case errors.Is(released, zklock.ErrLost):
	case released != nil && closed != nil:
		r.log.Warn("the lock was not given back, and stays until its session ends", "error", released)
	default:
		r.log.Info("the lock is given back", "node", hold.Node())
	}
}

// isAsked reports whether somebody has asked for the lock back, and is to have it. That stays so: a
// later request writes the same mark, and is not heard of.
func (r *run) isAsked(hold *zklock.Hold) bool {
	return r.onRevoke.value == "term" && latch.IsClosed(hold.Revoked())
}
