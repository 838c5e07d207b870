package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
)

func newBreak() *cobra.Command {
	var (
		c    connection
		node string
		yes  bool
	)
	cmd := &cobra.Command{
		Use:   "break [flags] PATH --node NODE --yes",
		Short: "Delete a node of a lock, whoever holds it",
		Long: `Break deletes one node of the lock on PATH, as status shows it. If the node holds the
lock, the next in line has it at once, and the holder learns of it only afterwards: for
that moment both may believe that they hold it. Make sure that the holder is dead or
does no harm; a node whose process is gone goes by itself when its session ends. Ask
with zklock revoke first.

Without --yes, break says what it would do and does nothing.`,
		Example: `  zklock break /locks/backup --node _c_1f0c-lock-0000000042 --yes`,
		Args:    onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if node == "" {
				return usage("--node is empty: name the node to delete, as zklock status %s shows it", args[0])
			}
			return untilSignal(cmd.Context(), func(ctx context.Context) error {
				session, err := c.open(ctx, c.logger(cmd))
				if err != nil {
					return err
				}
				defer session.Close()
				return breakNode(ctx, session, cmd.OutOrStdout(), args[0], node, yes)
			})
		},
	}
	cmd.Flags().StringVar(&node, "node", "", "the `node` to delete, as status shows it")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	c.flags(cmd)
	return cmd
}

// breakNode says what the deletion of the node means, and if it is to be done does
// it.
func breakNode(ctx context.Context, session *zklock.Session, out io.Writer, path, node string, yes bool) error {
	v, err := look(ctx, session, path)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(v.found, func(c zklock.Contender) bool { return named(c, node) })
	if at < 0 {
		return nobody(path, node)
	}
	target := v.found[at]
	c := describe(v.found)[at]
	role, effect := "waits for", "It loses its place in the queue."
	if target.Held {
		role, effect = "holds", "The next in line has the lock at once; until the holder notices, both may act."
	}
	fmt.Fprintf(out, "%s (%s, session %s, token %d, since %s) %s %s.\n%s\n",
		c.Node, c.who(), c.Session, c.Token, v.age(c.Created), role, path, effect)
	if !yes {
		return usage("nothing was deleted: add --yes to delete %s", c.Node)
	}
	if err := remove(ctx, session, c.Node); err != nil {
		return err
	}
	fmt.Fprintln(out, "deleted")
	return nil
}

// remove deletes the node. One that is gone already is as good as deleted.
func remove(ctx context.Context, session *zklock.Session, node string) error {
	done := make(chan error, 1)
	go func() { done <- session.Conn().Delete(node, -1) }()
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	select {
	case err := <-done:
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return classify(wrapNode("break", node, err))
	case <-ctx.Done():
		return classify(wrapNode("break", node, ctx.Err()))
	}
}

func wrapNode(op, node string, err error) error {
	if err == nil {
		return nil
	}
	return &zklock.Error{Op: op, Path: node, Err: err}
}
