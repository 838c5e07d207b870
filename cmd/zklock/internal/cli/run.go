package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
)

// run is one use of the run command.
type run struct {
	connection
	lockFlags
	lossFlags
	conflictCode int
	quiet        bool
	atLeast      duration // for which the lock is kept
	onRevoke     *choice
	front        int // in the keeper, the descriptor of the front

	path     string
	argv     []string
	log      *slog.Logger
	shortest time.Duration // session timeout that has been seen
}

const frontFlag = "front"

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
	cmd.Flags().IntVar(&r.front, frontFlag, 0, "how the process that keeps the lock finds the one that has started it")
	_ = cmd.Flags().MarkHidden(frontFlag)
	r.lockFlags.flags(cmd)
	r.connection.flags(cmd)
	cmd.Flags().IntVarP(&r.conflictCode, "conflict-exit-code", "E", exitConflict, "exit `code` when the lock was not to be had; with 0, nothing is said of it")
	cmd.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "say nothing of a lock that was not to be had, and give no warnings")
	cmd.Flags().Var(&r.atLeast, "hold-at-least", "keep the lock, and stay, for this long from when we had it, however short the command")
	r.lossFlags.flags(cmd)
	r.onRevoke = oneOf("ignore", "term")
	r.onRevoke.add(cmd, "on-revoke", "what to do with the command when somebody asks for the lock back")
	return cmd
}

func (r *run) arguments(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0:
		return usage("there is no -- among the arguments %q: write zklock run [flags] PATH -- COMMAND [ARG...]", args)
	case dash != 1:
		return usage("there are %d arguments before the -- (%q): it must be one, the PATH of the lock", dash, args[:dash])
	case len(args) == 1:
		return usage("there is no command behind the --")
	}
	r.path, r.argv = args[0], args[1:]
	for _, f := range []struct {
		name string
		code int
	}{{"conflict-exit-code", r.conflictCode}, {"lost-exit-code", r.exitCode}} {
		if f.code < 0 || f.code > 255 {
			return usage("--%s %d: it must be from 0 to 255", f.name, f.code)
		}
	}
	if err := cmp.Or(r.lockFlags.check(cmd), notTogether(cmd, "quiet", verboseFlag)); err != nil {
		return err
	}
	return oneLock(cmd, args[:1])
}

// lossFlags say what becomes of the command when the lock is lost.
type lossFlags struct {
	onLost    *choice
	killAfter duration
	exitCode  int
}

// graceFraction is how much of the session timeout the command has to end by itself,
// unless --kill-after says otherwise: less than what is usually left until ZooKeeper
// ends the session, which is 0.4.
const graceFraction = 0.25

func (l *lossFlags) flags(cmd *cobra.Command) {
	l.onLost = oneOf("term", "kill", "ignore")
	l.onLost.add(cmd, "on-lost", "what to do with the command when the lock is lost")
	cmd.Flags().Var(&l.killAfter, "kill-after", "after --on-lost=term, kill what is left of the command after this (default a quarter of the session timeout)")
	cmd.Flags().IntVar(&l.exitCode, "lost-exit-code", exitLost, "exit `code` when the lock was lost before the command had ended")
}

// ending is the signal that ends the command: 0 if nothing does.
func (l *lossFlags) ending() syscall.Signal {
	switch l.onLost.value {
	case "kill":
		return syscall.SIGKILL
	case "term":
		return syscall.SIGTERM
	}
	return 0
}

// grace is how long the command has to end by itself.
func (l *lossFlags) grace(session time.Duration) time.Duration {
	if l.killAfter.set {
		return l.killAfter.Duration
	}
	return time.Duration(graceFraction * float64(session))
}

// killIn is how long the command has to end by itself if the session's lock is lost now. Servers may
// grant another timeout at a reconnect, and what they have granted before may count yet.
func (r *run) killIn(session *zklock.Session) time.Duration {
	r.shortest = min(cmp.Or(r.shortest, session.Timeout()), session.Timeout())
	return r.grace(r.shortest)
}

// start has another process take the lock and run the command: see package job.
func (r *run) start() error {
	front := job.Front{
		Args: func(descriptor int) []string {
			at := 1 + slices.Index(os.Args[1:], "run") + 1
			return slices.Insert(slices.Clone(os.Args), at, fmt.Sprintf("--%s=%d", frontFlag, descriptor))
		},
		Ending: r.ending(), Log: r.log,
	}
	code, err := front.Run()
	var killed *job.KeeperError
	var interrupted *job.Interrupted
	switch {
	case errors.As(err, &interrupted):
		return err
	case errors.As(err, &killed):
		return withCode(r.exitCode, fmt.Errorf("run %s: the lock was lost: %w", r.path, err))
	case err != nil:
		return withCode(exitFailure, fmt.Errorf("run %s: %w", r.path, err))
	}
	return exitWith(code)
}

// keep takes the lock, runs the command and gives the lock back.
func (r *run) keep(ctx context.Context) error {
	master, err := job.OpenMaster(r.front)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("--%s is not for you: %w", frontFlag, err))
	}
	executable, err := job.Find(r.argv[0])
	if err != nil {
		return err // before anybody waits for the lock
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

// command is what is run while the lock is held. Valid asks the clock: this process may have been
// stopped since the grant, and then nothing else tells of the lock's end.
func (r *run) command(executable string, session *zklock.Session, hold *zklock.Hold, master *job.Master) job.Command {
	return job.Command{
		Path: executable, Args: r.argv, Env: environment(session, hold, r.path),
		Lost: hold.Lost(), Valid: func() bool { return !master.Died() && hold.Valid() },
		Ending: r.ending(), KillAfter: func() time.Duration { return r.killIn(session) }, Orphaned: r.ending(),
	}
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
	session, err := r.open(ctx, r.log)
	if err != nil {
		return nil, nil, cmp.Or(stop(), err)
	}
	if r.acl.needsCredentials() && !r.identified() {
		session.Close()
		return nil, nil, cmp.Or(stop(), usage("--acl %s: it is for who has credentials, and there are none: give --auth-file or $%s", r.acl.text, authVariable))
	}
	if r.loggedIn && r.acl.text == "" {
		r.log.Warn("there are credentials, and the lock's nodes stay open to everybody: give --acl creator, or --acl open if that is meant")
	}
	asked := time.Now()
	speakFor(r.argv[0], r.onRevoke.value)
	hold, err := r.await(ctx, session)
	switch {
	case err == nil && r.acl.isList():
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
	if !r.log.Enabled(ctx, slog.LevelInfo) {
		return r.take(ctx, session, r.path, r.whileEnding(session))
	}
	p := newProgress(session, r.path, r.log)
	reporting, stop := context.WithCancel(ctx)
	var reported sync.WaitGroup
	reported.Go(func() { p.report(reporting) })
	defer reported.Wait()
	defer stop()
	return r.take(ctx, session, r.path, r.whileEnding(session), p.option())
}

// whileEnding leaves the lock's node while a command is ended that has lost the lock: servers that
// are back by then would give it to the next. When the command has ended, it goes with the session.
// That is long enough whatever timeouts are granted later: killIn never grows.
func (r *run) whileEnding(session *zklock.Session) zklock.Option {
	if r.ending() == 0 {
		return zklock.WithLossGrace(0)
	}
	return zklock.WithLossGrace(r.killIn(session) + session.Timeout())
}

// checkReadable returns an error if --acl does not let us read the lock's node. Who may not has lost
// the lock at the first proof of it, when the command runs. Of anything else the hold tells.
func (r *run) checkReadable(ctx context.Context, session *zklock.Session, hold *zklock.Hold) error {
	_, err := request(ctx, session, func(conn *zk.Conn) ([]byte, error) {
		data, _, err := conn.Get(hold.Node())
		return data, err
	})
	if !errors.Is(err, zk.ErrNoAuth) {
		return nil
	}
	return withCode(exitRefused, fmt.Errorf("run %s: --acl %s does not let us read the lock's node, so that the lock could not be kept", r.path, r.acl.text))
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

// heedRevocation does what --on-revoke says when somebody asks for the lock back.
func (r *run) heedRevocation(hold *zklock.Hold, signals chan<- os.Signal) {
	go func() {
		select {
		case <-hold.Revoked():
		case <-hold.Context().Done():
			return
		}
		r.log.Warn("somebody asks for the lock back", "node", hold.Node(), "on_revoke", r.onRevoke.value)
		if r.onRevoke.value == "term" {
			signals <- syscall.SIGTERM
		}
	}()
}

// isAsked reports whether somebody has asked for the lock back, and is to have it. That stays so: a
// later request writes the same mark, and is not heard of.
func (r *run) isAsked(hold *zklock.Hold) bool {
	return r.onRevoke.value == "term" && latch.IsClosed(hold.Revoked())
}

// environment is the command's: ours, and what it may want to know of the lock.
func environment(session *zklock.Session, hold *zklock.Hold, path string) []string {
	command := exec.Cmd{Env: append(job.Environ(),
		"ZKLOCK_PATH="+path,
		"ZKLOCK_NODE="+hold.Node(),
		"ZKLOCK_TOKEN="+strconv.FormatInt(hold.Token(), 10),
		"ZKLOCK_SESSION="+client.Hex(session.ID()),
	)}
	return command.Environ() // without those of a lock that we are run under
}
