package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/client"
)

func newRevoke() *cobra.Command {
	var (
		c    connection
		node string
		wait duration
	)
	cmd := &cobra.Command{
		Use:   "revoke [flags] PATH",
		Short: "Ask for a lock back",
		Long: `Revoke asks the holders of the lock on PATH, or the owner of one node, to give it back, by
writing Curator's mark on the node. Asking is not taking: the owner decides. A command
under zklock run goes on, unless it was started with --on-revoke=term.

With --wait it returns when those that it has asked have given the lock back, or with 75 if
they have not by then.`,
		Example: `  zklock revoke /locks/backup
  zklock revoke --wait 1m /locks/backup`,
		Args: oneLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				asked, err := revoke(ctx, session, out, args[0], node, nil)
				if err != nil || wait.Duration == 0 {
					return err
				}
				return awaitBack(ctx, session, args[0], asked, wait.Duration)
			})
		},
	}
	cmd.Flags().Var((*nonEmpty)(&node), "node", "the `node` to ask for, as status shows it, or what its name alone ends with or, if none does, contains (default all that hold the lock)")
	cmd.Flags().Var(&wait, "wait", "wait for those that are asked to give the lock back, no longer than this")
	c.flags(cmd)
	return cmd
}

// revoke asks for the node back, or, if it is empty, for all that hold the lock, and returns whom
// it was to ask. Of a node that was shown elsewhere, it asks only if it is as it was agreed to there.
func revoke(ctx context.Context, session *zklock.Session, out io.Writer, path, node string, agreed *agreement) (asked []zklock.Contender, err error) {
	v, err := look(ctx, session, path)
	if err != nil {
		return nil, err
	}
	asked, _ = v.held()
	if node != "" {
		one, err := v.one(node)
		if err != nil {
			return nil, err
		}
		if agreed != nil && *agreed != (agreement{one.Token, one.Held}) {
			return nil, withCode(exitConflict, fmt.Errorf("nobody was asked: %s is not as it was shown", v.printableNode(one.Node)))
		}
		asked = []zklock.Contender{one}
	}
	if len(asked) == 0 {
		return nil, nobody(path, node)
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(out, format, args...)
		return withCode(exitFailure, err)
	}
	var failed []error // which is no matter of the others
	for _, c := range asked {
		node := v.printableNode(c.Node)
		if c.Persistent {
			failed = append(failed, withCode(exitFailure, fmt.Errorf("%s", strings.TrimSpace(v.note(c)))))
			continue
		}
		switch err := ask(ctx, session, c.Node); {
		case err == nil:
			failed = append(failed, say("asked %s for %s\n", shown.Of(c).Who(), node))
		case errors.Is(err, zk.ErrNoNode):
			failed = append(failed, say("%s is gone already\n", node))
		case client.Refused(err):
			failed = append(failed, classify(lacking("WRITE", c.Node, err)))
		default:
			return asked, errors.Join(append(failed, classify(err))...)
		}
	}
	return asked, errors.Join(failed...)
}

// awaitBack returns when the nodes of those that were asked are gone, or an error if some are there
// after the time.
func awaitBack(ctx context.Context, session *zklock.Session, path string, asked []zklock.Contender, limit time.Duration) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changed := watchLock(watching, session, path)
	limited, end := context.WithTimeout(ctx, limit)
	defer end()
	for {
		v, err := look(limited, session, path)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && errors.Is(limited.Err(), context.DeadlineExceeded):
			return withCode(exitConflict, fmt.Errorf("revoke %s: after %v it is not known whether the lock was given back: %w", path, limit, err))
		case err != nil:
			return err
		}
		left := slices.DeleteFunc(v.found, func(c zklock.Contender) bool {
			return !slices.ContainsFunc(asked, func(a zklock.Contender) bool { return a.Node == c.Node })
		})
		if len(left) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-limited.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			c := shown.Of(left[0])
			return withCode(exitConflict, fmt.Errorf("revoke %s: %s has not given back %s after %v", path, c.Who(), v.printableNode(c.Node), limit))
		}
	}
}

// ask asks for one node. It gives up when a session that is lost would end.
func ask(ctx context.Context, session *zklock.Session, node string) error {
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	return zklock.Revoke(ctx, session, node)
}

// nobody says that there is no such node, or no holder.
func nobody(path, node string) error {
	if node == "" {
		return withCode(exitFailure, fmt.Errorf("nobody holds %s", path))
	}
	return withCode(exitFailure, fmt.Errorf("--node %q: no holder or waiter of %s has that node; zklock status %s lists them", node, path, path))
}
