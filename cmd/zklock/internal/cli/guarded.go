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
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/internal/client"
)

// guarded is a command that runs while a lock is held: what run and elect have in common.
type guarded struct {
	connection
	lossFlags
	acl      accessList
	onRevoke *choice
	front    int // in the keeper, the descriptor of the front

	name     string // of our own command
	path     string
	argv     []string
	log      *slog.Logger
	shortest time.Duration // session timeout that has been seen
}

const frontFlag = "front"

func (g *guarded) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&g.front, frontFlag, 0, "how the process that keeps the lock finds the one that has started it")
	_ = cmd.Flags().MarkHidden(frontFlag)
	g.connection.flags(cmd)
	g.acl.flag(cmd.Flags())
	cmd.Flags().Var(&g.killAfter, "kill-after", "after a loss, kill what is left of the command when it has had this long to end by itself (default a quarter of the session timeout)")
}

// arguments takes the PATH of a lock and, behind --, a command.
func (g *guarded) arguments(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0:
		return usage("there is no -- among the arguments %q: write %s [flags] PATH -- COMMAND [ARG...]", args, cmd.CommandPath())
	case dash != 1:
		return usage("there are %d arguments before the -- (%q): it must be one, the PATH of the lock", dash, args[:dash])
	case len(args) == 1:
		return usage("there is no command behind the --")
	}
	g.name, g.path, g.argv = cmd.Name(), args[0], args[1:]
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
func (g *guarded) killIn(session *zklock.Session) time.Duration {
	g.shortest = min(cmp.Or(g.shortest, session.Timeout()), session.Timeout())
	return g.grace(g.shortest)
}

// start has another process, the keeper, take the lock and run the command: see package job.
func (g *guarded) start() error {
	front := job.Front{
		Args: func(descriptor int) []string {
			at := 1 + slices.Index(os.Args[1:], g.name) + 1
			return slices.Insert(slices.Clone(os.Args), at, fmt.Sprintf("--%s=%d", frontFlag, descriptor))
		},
		Ending: g.ending(), Log: g.log,
	}
	code, err := front.Run()
	var killed *job.KeeperError
	var interrupted *job.Interrupted
	switch {
	case errors.As(err, &interrupted):
		return err
	case errors.As(err, &killed):
		return withCode(g.exitCode, fmt.Errorf("%s %s: the lock was lost: %w", g.name, g.path, err))
	case err != nil:
		return withCode(exitFailure, fmt.Errorf("%s %s: %w", g.name, g.path, err))
	}
	return exitWith(code)
}

// begin is the first thing that the keeper does. It returns the front, and the file to execute.
func (g *guarded) begin() (*job.Master, string, error) {
	master, err := job.OpenMaster(g.front)
	if err != nil {
		return nil, "", withCode(exitUsage, fmt.Errorf("--%s is not for you: %w", frontFlag, err))
	}
	executable, err := job.Find(g.argv[0]) // before anybody waits for the lock
	speakFor(g.argv[0], g.onRevoke.value)
	return master, executable, err
}

// join connects as one whom the permissions let use the lock.
func (g *guarded) join(ctx context.Context) (*zklock.Session, error) {
	session, err := g.open(ctx, g.log)
	if err != nil {
		return nil, err
	}
	if g.acl.needsCredentials() && !g.identified() {
		session.Close()
		return nil, usage("--acl %s: it is for who has credentials, and there are none: give --auth-file, --sasl-user or $%s", g.acl.text, authVariable)
	}
	if g.loggedIn && g.acl.text == "" {
		g.log.Warn("there are credentials, and the lock's nodes stay open to everybody: give --acl creator, or --acl open if that is meant")
	}
	return session, nil
}

// lossGrace is for how long a lost lock's node stays while a command is ended: servers that are back by
// then would give it to the next. When the command has ended, it goes with the session. That is long
// enough whatever timeouts are granted later: killIn never grows.
func (g *guarded) lossGrace(session *zklock.Session) time.Duration {
	if g.ending() == 0 {
		return 0
	}
	return g.killIn(session) + session.Timeout()
}

// checkReadable returns an error if --acl does not let us read the lock's node. Who may not has lost
// the lock at the first proof of it, when the command runs. Of anything else the hold tells.
func (g *guarded) checkReadable(ctx context.Context, session *zklock.Session, hold *zklock.Hold) error {
	if !g.acl.isList() {
		return nil
	}
	_, err := request(ctx, session, func(conn *zk.Conn) ([]byte, error) {
		data, _, err := conn.Get(hold.Node())
		return data, err
	})
	if !client.Answers(err, zk.ErrNoAuth) { // the term's end may have such a cause
		return nil
	}
	return withCode(exitRefused, fmt.Errorf("%s %s: --acl %s does not let us read the lock's node, so that the lock could not be kept", g.name, g.path, g.acl.text))
}

// command is what is run while the lock is held. Valid asks the clock: this process may have been
// stopped since the grant, and then nothing else tells of the lock's end.
func (g *guarded) command(executable string, session *zklock.Session, hold *zklock.Hold, master *job.Master) job.Command {
	return job.Command{
		Path: executable, Args: g.argv, Env: environment(session, hold, g.path),
		Lost: hold.Lost(), Valid: func() bool { return !master.Died() && hold.Valid() }, Signals: master.Signals,
		Ending: g.ending(), KillAfter: func() time.Duration { return g.killIn(session) }, Orphaned: g.ending(),
	}
}

// heedRevocation does what --on-revoke says when somebody asks for the lock back.
func (g *guarded) heedRevocation(hold *zklock.Hold, signals chan<- os.Signal) {
	go func() {
		select {
		case <-hold.Revoked():
		case <-hold.Context().Done():
			return
		}
		g.log.Warn("somebody asks for the lock back", "node", hold.Node(), "on_revoke", g.onRevoke.value)
		if g.onRevoke.value == "term" {
			signals <- syscall.SIGTERM
		}
	}()
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
