package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

func newRevoke() *cobra.Command {
	var (
		c    connection
		node string
	)
	cmd := &cobra.Command{
		Use:   "revoke [flags] PATH",
		Short: "Ask for a lock back",
		Long: `Revoke asks the holders of the lock on PATH, or the owner of one node, to give it back, by
writing Curator's mark on the node. Asking is not taking: the owner decides. A command
under zklock run goes on, unless it was started with --on-revoke=term.`,
		Example: `  zklock revoke /locks/backup`,
		Args:    oneLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				return revoke(ctx, session, out, args[0], node)
			})
		},
	}
	cmd.Flags().Var((*nonEmpty)(&node), "node", "the `node` to ask for, as status shows it, or what its name alone ends with or, if none does, contains (default all that hold the lock)")
	c.flags(cmd)
	return cmd
}

// revoke asks for the node back, or, if it is empty, for all that hold the lock.
func revoke(ctx context.Context, session *zklock.Session, out io.Writer, path, node string) error {
	v, err := look(ctx, session, path)
	if err != nil {
		return err
	}
	asked, _ := v.held()
	if node != "" {
		one, err := v.one(node)
		if err != nil {
			return err
		}
		asked = []zklock.Contender{one}
	}
	if len(asked) == 0 {
		return nobody(path, node)
	}
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(out, format, args...)
		return withCode(exitFailure, err)
	}
	var failed []error // which is no matter of the others
	for _, c := range asked {
		node := v.printableNode(c.Node)
		switch err := ask(ctx, session, c.Node); {
		case err == nil:
			failed = append(failed, say("asked %s for %s\n", describe(c).who(), node))
		case errors.Is(err, zk.ErrNoNode):
			failed = append(failed, say("%s is gone already\n", node))
		case client.Refused(err):
			failed = append(failed, classify(err))
		default:
			return errors.Join(append(failed, classify(err))...)
		}
	}
	return errors.Join(failed...)
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
