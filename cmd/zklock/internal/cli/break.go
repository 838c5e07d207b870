package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
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
lock alone, the next in line has it at once, and the holder learns of it only afterwards: for
that moment both may believe that they hold it. Make sure that the holder is dead or
does no harm; a node whose process is gone goes by itself when its session ends. Ask
with zklock revoke first.

Without --yes, break says what it would do, and asks if it is on a terminal; elsewhere it
does nothing. It deletes only what it has shown: if the node has become the holder
meanwhile it asks again, or, where there is nobody to ask, ends with 75.`,
		Example: `  zklock break /locks/backup --node _c_1f0c-lock-0000000042 --yes`,
		Args:    oneLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if node == "" {
				return usage("there is no --node: name the node to delete, as zklock status %s shows it", args[0])
			}
			return c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				b := breaking{
					session: session, out: out, path: args[0], node: node, yes: yes,
					ask: asking(cmd.InOrStdin(), cmd.OutOrStdout()),
				}
				return b.run(ctx)
			})
		},
	}
	cmd.Flags().Var((*nonEmpty)(&node), "node", "the `node` to delete, as status shows it, or what its name alone ends with or, if none does, contains")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	c.flags(cmd)
	return cmd
}

// breaking is one use of the break command.
type breaking struct {
	session *zklock.Session
	out     io.Writer
	path    string
	node    string
	yes     bool
	shown   *agreement                                                       // elsewhere, where it was agreed to
	ask     func(ctx context.Context, question string) (yes bool, err error) // nil if there is nobody to ask
}

// agreement is to do something to the node that was made by that transaction, as long as
// it is that much of the lock.
type agreement struct {
	token int64
	held  bool
}

// run shows the node, and deletes it if that is agreed to. What is deleted is what
// was shown: if it is another by then, it is shown again, and if that is more than
// was agreed to, it is asked for again.
func (b *breaking) run(ctx context.Context) error {
	var agreed agreement
	if b.shown != nil {
		agreed = *b.shown
	}
	var shown int32 // version of the node's data
	for round := 1; ; round++ {
		first := round == 1
		if first {
			if err := b.name(ctx); err != nil {
				return err
			}
		}
		v, at, stat, err := b.find(ctx)
		switch {
		case err != nil:
			return err
		case at < 0:
			fmt.Fprintf(b.out, "%s is gone already\n", plain.Name(b.node, longestName))
			return nil
		}
		target := v.found[at]
		now := agreement{target.Token, target.Held}
		if now != agreed || first || stat.Version != shown {
			if err := b.show(v, at); err != nil {
				return err
			}
			shown = stat.Version
		}
		if now != agreed {
			if err := b.agree(ctx, v.printableNode(target.Node), first); err != nil {
				return err
			}
			agreed = now
		}
		switch err := b.delete(ctx, v.found, at, stat); {
		case err == nil:
			fmt.Fprintln(b.out, "deleted")
			return nil
		case final(err):
			return failed(b.node, err)
		case round == mostRounds:
			return withCode(exitConflict, failed(b.node, fmt.Errorf("it was not as it had been shown, %d times: %w", round, err)))
		}
		if err := b.pause(ctx, round); err != nil {
			return err
		}
	}
}

// mostRounds bounds how often a node is shown and not found so.
const mostRounds = 10

// pause waits before the next look, which is at another server if the node is not what this one shows.
func (b *breaking) pause(ctx context.Context, round int) error {
	c := client.Of(b.session)
	err := c.ConfirmUnder(ctx, func() error { return c.Confirm(b.node) })
	if err != nil && (!client.IsStale(err) || round == mostRounds-1) {
		return failed(b.node, err)
	}
	return c.Sleep(ctx, backoff.Before(round))
}

// name makes the node that was named by a part of it a full path.
func (b *breaking) name(ctx context.Context) error {
	v, err := look(ctx, b.session, b.path)
	if err != nil {
		return err
	}
	c, err := v.one(b.node)
	b.node = c.Node
	return err
}

// find looks at the lock, and returns where the node stands in it, negative if it
// does not, and its stat from before that.
func (b *breaking) find(ctx context.Context) (v view, at int, stat *zk.Stat, err error) {
	index := func() int {
		return slices.IndexFunc(v.found, func(c zklock.Contender) bool { return c.Node == b.node })
	}
	if v, err = look(ctx, b.session, b.path); err != nil || index() < 0 {
		return v, -1, nil, err
	}
	stat, err = request(ctx, b.session, func(conn *zk.Conn) (*zk.Stat, error) {
		_, stat, err := conn.Exists(b.node)
		return stat, err
	})
	if err != nil { // from ZooKeeper 3.9.2 on that takes the permission
		return v, -1, nil, failed(b.node, lacking("READ", b.node, err))
	}
	v, err = look(ctx, b.session, b.path)
	return v, index(), stat, err
}

// show says what the deletion of the node means.
func (b *breaking) show(v view, at int) error {
	c := shown.Of(v.found[at])
	role, effect := "waits for", "It loses its place in the queue."
	switch held, _ := v.held(); {
	case c.Held && len(held) > 1:
		role, effect = "holds", "Others hold it too; until this holder notices, it may act beside whoever has the lock next."
	case c.Held:
		role, effect = "holds", "The next in line has the lock at once; until the holder notices, both may act."
	}
	if c.Persistent {
		effect = "It goes with no session: make sure that no program needs it."
	}
	_, err := fmt.Fprintf(b.out, "%s (%s, session %s, token %d, since %s) %s %s.\n%s\n",
		v.printableNode(c.Node), c.Who(), c.Session, c.Token, v.age(c.Created), role, v.path, effect)
	return withCode(exitFailure, err)
}

// agree returns an error unless the node may be deleted. --yes is said to what is
// shown first.
func (b *breaking) agree(ctx context.Context, node string, first bool) error {
	switch {
	case b.yes && first:
		return nil
	case b.shown != nil:
		return withCode(exitConflict, fmt.Errorf("nothing was deleted: %s is not as it was shown", node))
	case b.ask == nil && first:
		return usage("nothing was deleted: add --yes to delete %s", node)
	case b.ask == nil:
		return withCode(exitConflict, fmt.Errorf("nothing was deleted: %s has changed meanwhile; say --yes again to delete it as it is now", node))
	}
	yes, err := b.ask(ctx, "Delete it? [y/N] ")
	if err == nil && !yes {
		err = withCode(exitFailure, errors.New("nothing was deleted"))
	}
	return err
}

// delete deletes the node if it is as stat says, and if it waits, only while the one
// ahead of it is there.
func (b *breaking) delete(ctx context.Context, found []zklock.Contender, at int, stat *zk.Stat) error {
	if stat.Czxid != found[at].Token {
		return zk.ErrBadVersion
	}
	ops := []any{&zk.DeleteRequest{Path: found[at].Node, Version: stat.Version}}
	if ahead := blocker(found, at); ahead != "" {
		ops = append(ops, &zk.CheckVersionRequest{Path: ahead, Version: -1})
	}
	answers, err := request(ctx, b.session, func(conn *zk.Conn) ([]zk.MultiResponse, error) { return conn.Multi(ops...) })
	if len(answers) == 2 && errors.Is(answers[1].Error, zk.ErrNoAuth) {
		return lacking("READ", blocker(found, at), err)
	}
	return lacking("DELETE", path.Dir(found[at].Node), err)
}

// blocker returns the nearest node that the one at that place waits for, "" if there
// is none.
func blocker(found []zklock.Contender, at int) string {
	if ahead := shown.Blocker(found, at); ahead >= 0 {
		return found[ahead].Node
	}
	return ""
}

// final reports whether a delete failed for another reason than that the node, or
// the one ahead of it, is not any more what it was, or the connection was lost.
func final(err error) bool {
	return client.Refused(err) || errors.Is(err, zk.ErrNotEmpty) || errors.Is(err, zklock.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func failed(node string, err error) error {
	return classify(&zklock.Error{Op: "break", Path: node, Err: err})
}

// asking returns how to ask somebody at the terminal that in and out are, nil if they
// are none.
func asking(in io.Reader, out io.Writer) func(ctx context.Context, question string) (yes bool, err error) {
	for _, f := range []any{in, out} {
		if terminal(f) == nil {
			return nil
		}
	}
	lines := bufio.NewReader(in)
	return func(ctx context.Context, question string) (bool, error) {
		if _, err := fmt.Fprint(ctxWriter{ctx, out}, question); err != nil {
			return false, withCode(exitFailure, err)
		}
		answer := make(chan string, 1)
		go func() {
			line, _ := lines.ReadString('\n') // what ends without one is no answer
			answer <- line
		}()
		select {
		case line := <-answer:
			line = strings.ToLower(strings.TrimSuffix(line, "\n"))
			return line == "y" || line == "yes", nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
