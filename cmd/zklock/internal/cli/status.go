package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path"
	"reflect"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// status is one use of the status command.
type status struct {
	connection
	format   *choice
	watch    bool
	exitCode bool // is the answer
	answer   int  // then

	path   string
	stdout io.Writer
	out    io.Writer // stdout, until a signal
}

func newStatus() *cobra.Command {
	s := new(status)
	cmd := &cobra.Command{
		Use:   "status [flags] PATH",
		Short: "Show who holds a lock and who waits for it",
		Long: `Status shows who holds the lock on PATH and who waits for it, in the order of the queue,
holders first: host and process, the command that zklock run runs there, whether it heeds a
request to give the lock back (zklock revoke), for how long it has had the lock, for how
long its node has been there, which for a holder includes the wait, the fencing token, the
ZooKeeper session, and the node.

With --exit-code the exit code says what is so: 0 that the lock is free, 1 that somebody
holds it or waits for it, 2 that it cannot be told.`,
		Example: `  zklock status /locks/backup
  zklock status --watch /locks/backup
  zklock status --format json /locks/backup`,
		Args: oneLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notTogether(cmd, "watch", "exit-code"); err != nil {
				return err
			}
			s.path, s.stdout = args[0], cmd.OutOrStdout()
			err := s.onSession(cmd, s.run)
			var interrupted *job.Interrupted
			switch isSignal := errors.As(err, &interrupted); {
			case s.watch && isSignal:
				return exitWith(interrupted.ExitCode()) // which is how it is meant to end
			case s.exitCode && err == nil:
				return exitWith(s.answer)
			case s.exitCode && !isSignal && codeOf(err) != exitUsage:
				return withCode(answerUnknown, err)
			}
			return err
		},
	}
	s.format = oneOf("table", "json")
	s.format.add(cmd, "format", "a table for people, or a line of JSON")
	cmd.Flags().BoolVar(&s.watch, "watch", false, "go on, and show each change; on a terminal, in place")
	cmd.Flags().BoolVar(&s.exitCode, "exit-code", false, "exit with 0 if the lock is free, 1 if somebody holds it or waits for it, 2 if that cannot be told")
	s.connection.flags(cmd)
	return cmd
}

func (s *status) run(ctx context.Context, session *zklock.Session, out io.Writer) error {
	s.out = out
	if s.watch {
		return s.follow(ctx, session)
	}
	v, err := look(ctx, session, s.path)
	if err != nil {
		return err
	}
	s.answer = v.answer()
	return s.write(v)
}

func (s *status) write(v view) error {
	err := v.writeTable
	if s.format.value == "json" {
		err = v.writeJSON
	}
	return withCode(exitFailure, err(s.out))
}

const (
	redraw  = time.Second     // on a terminal, since the times that are shown run
	refresh = 5 * time.Second // for what no watch tells: the data of a node
)

// follow shows the lock at first and then each change, until ctx ends.
func (s *status) follow(ctx context.Context, session *zklock.Session) error {
	changed := watchLock(ctx, session, s.path)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	drawn, looked := time.NewTicker(redraw), time.NewTicker(refresh)
	defer drawn.Stop()
	defer looked.Stop()

	screen := newScreen(s)
	v, err := look(ctx, session, s.path)
	for {
		if err := screen.show(v, err); err != nil {
			return err
		}
		select {
		case <-drawn.C:
		case <-resized:
		case <-looked.C:
			v, err = look(ctx, session, s.path)
		case <-changed:
			v, err = look(ctx, session, s.path)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// watchLock announces each change of a lock's nodes, until ctx ends, and that it has begun to watch.
func watchLock(ctx context.Context, session *zklock.Session, lock string) <-chan struct{} {
	changed := make(chan struct{}, 1)
	for _, dir := range []string{lock, path.Join(lock, recipe.Turns), path.Join(lock, recipe.Permits)} {
		go watchChildren(ctx, session, dir, changed)
	}
	return changed
}

// watchChildren announces each change of dir's children, until ctx ends. It also
// announces each new watch: what happened before that may have gone unnoticed.
func watchChildren(ctx context.Context, session *zklock.Session, dir string, changed chan<- struct{}) {
	for ctx.Err() == nil {
		event, err := request(ctx, session, func(conn *zk.Conn) (<-chan zk.Event, error) { return watchDir(conn, client.Of(session).Below(dir)) })
		select {
		case changed <- struct{}{}:
		default:
		}
		var again <-chan time.Time
		if err != nil {
			event, again = nil, time.After(redraw)
		}
		select {
		case <-event:
		case <-again:
		case <-ctx.Done():
		}
	}
}

// watchDir watches the children of dir, or for dir if it is not there.
func watchDir(conn *zk.Conn, dir string) (<-chan zk.Event, error) {
	for range mostRounds {
		_, _, event, err := conn.ChildrenW(dir)
		if !errors.Is(err, zk.ErrNoNode) {
			return event, err
		}
		there, _, event, err := conn.ExistsW(dir)
		if !there { // else that watch tells nothing of its children
			return event, err
		}
	}
	return nil, zk.ErrNoNode
}

// same reports whether two views differ in nothing but the time.
func same(a, b view) bool { return a.state == b.state && reflect.DeepEqual(a.found, b.found) }
