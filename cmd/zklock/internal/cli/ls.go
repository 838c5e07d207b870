package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

func newList() *cobra.Command {
	var c connection
	format := oneOf("table", "json")
	cmd := &cobra.Command{
		Use:   "ls [flags] PREFIX",
		Short: "List the locks below a path",
		Long: `Ls lists the locks at and below PREFIX that somebody holds or waits for: what kind each is,
who holds it, how many wait, and for how long the oldest node has been there, which for a
holder includes the wait.`,
		Example: `  zklock ls /
  zklock ls --format json /locks`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				found, hidden, err := list(ctx, session, args[0])
				if err != nil {
					return err
				}
				if len(hidden) > 0 {
					c.logger(cmd).Warn("paths may not be read: the locks there are not shown", "paths", len(hidden), "first", hidden[0])
				}
				write := writeLocks
				if format.value == "json" {
					write = writeLocksJSON
				}
				return withCode(exitFailure, write(out, args[0], found))
			})
		},
	}
	format.add(cmd, "format", "a table for people, or a line of JSON")
	c.flags(cmd)
	return cmd
}

// sideBySide is how many requests of a list are under way at a time.
const sideBySide = 16

// list returns the locks at and below prefix, in the order of their paths, and the paths below it
// that may not be read.
func list(ctx context.Context, session *zklock.Session, prefix string) (found []view, hidden []string, err error) {
	var mu sync.Mutex // guards found, hidden and below
	for level := []place{{prefix, prefix != "/"}}; len(level) > 0; {
		var below []place
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(sideBySide)
		for _, at := range level {
			group.Go(func() error {
				names, err := childrenOf(ctx, session, at.path)
				if errors.Is(err, zk.ErrNoAuth) && at.path != prefix {
					mu.Lock()
					defer mu.Unlock()
					hidden = append(hidden, at.path)
					return nil
				}
				if err != nil {
					return err
				}
				var v view
				if at.mayBeLock && mayBeLock(names) {
					v, err = look(ctx, session, at.path)
					if err != nil && !errors.Is(err, zk.ErrNoAuth) { // of a part of it
						return err
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if len(v.found) > 0 {
					found = append(found, v)
				}
				below = append(below, within(at.path, names)...)
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return nil, nil, err
		}
		level = below
	}
	slices.Sort(hidden)
	slices.SortFunc(found, func(a, b view) int { return strings.Compare(a.path, b.path) })
	return found, hidden, nil
}

// childrenOf lists dir; nothing if it is gone.
func childrenOf(ctx context.Context, session *zklock.Session, dir string) ([]string, error) {
	names, err := request(ctx, session, func(conn *zk.Conn) ([]string, error) {
		names, _, err := conn.Children(client.Of(session).Below(dir))
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		err = classify(&zklock.Error{Op: "list", Path: dir, Err: err})
	}
	return names, err
}

// mayBeLock reports whether a path with these children may be a lock.
func mayBeLock(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, contends := recipe.Parse(name)
		return contends || name == recipe.Permits
	})
}

// place is a path that may be a lock, or have some below it.
type place struct {
	path      string
	mayBeLock bool
}

// within returns dir's children but for the nodes of locks. The line of a semaphore looks like a lock
// and is none, unlike its permits, which do not; but paths may have these names without being a
// semaphore's.
func within(dir string, names []string) (places []place) {
	semaphore := dir != "/" && slices.Contains(names, recipe.Permits)
	for _, name := range names {
		_, contends := recipe.Parse(name)
		if contends || recipe.IsPermit(name) || dir == "/" && name == "zookeeper" {
			continue
		}
		places = append(places, place{path.Join(dir, name), !semaphore || name != recipe.Turns})
	}
	return places
}

// held splits a lock's contenders.
func (v view) held() (holders, waiters []zklock.Contender) {
	for _, c := range v.found {
		if c.Held {
			holders = append(holders, c)
		} else {
			waiters = append(waiters, c)
		}
	}
	return holders, waiters
}

func writeLocks(to io.Writer, prefix string, locks []view) error {
	if len(locks) == 0 {
		_, err := fmt.Fprintf(to, "Nobody holds a lock at or below %s, or waits for one.\n", prefix)
		return err
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PATH\tKIND\tHOLDER\tWAITERS\tAGE")
	for _, v := range locks {
		holders, waiters := v.held()
		holder := "-"
		if len(holders) > 0 {
			holder = describe(holders[0]).who()
		}
		if more := len(holders) - 1; more > 0 {
			holder += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", printable(v.path, longestName), v.found[0].Kind, holder, len(waiters), v.age(v.first()))
	}
	t.Flush()
	_, err := io.WriteString(to, b.String())
	return err
}

func writeLocksJSON(to io.Writer, prefix string, locks []view) error {
	type lock struct {
		Path    string      `json:"path"`
		Kind    string      `json:"kind"`
		Holders []contender `json:"holders"`
		Waiters int         `json:"waiters"`
		Age     float64     `json:"age_seconds"`
	}
	shown := make([]lock, len(locks))
	for i, v := range locks {
		holders, waiters := v.held()
		shown[i] = lock{v.path, v.found[0].Kind.String(), make([]contender, len(holders)), len(waiters), v.since(v.first()).Seconds()}
		for j, c := range holders {
			shown[i].Holders[j] = describe(c)
		}
	}
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Prefix string `json:"prefix"`
		Locks  []lock `json:"locks"`
	}{prefix, shown})
}
