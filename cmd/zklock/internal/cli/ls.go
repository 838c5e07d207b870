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
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
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
holder includes the wait; and the key, where a path has it escaped or hashed. Of what may not
be read it lists the paths alone, and ends with 66: somebody may hold a lock there.`,
		Example: `  zklock ls /
  zklock ls --format json /locks`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				l, err := list(ctx, session, args[0])
				if err != nil {
					return err
				}
				write := l.writeTable
				if format.value == "json" {
					write = l.writeJSON
				}
				if err := write(out); err != nil {
					return withCode(exitFailure, err)
				}
				return exitWith(l.exitCode())
			})
		},
	}
	format.add(cmd, "format", "a table for people, or a line of JSON")
	c.flags(cmd)
	return cmd
}

// sideBySide is how many requests of a list are under way at a time.
const sideBySide = 16

// listing is what is known of the locks at and below a path, in the order of their paths.
type listing struct {
	prefix string
	found  []view
	hidden []string // paths that may not be read
}

// exitCode tells an answer that is whole from one that is not.
func (l listing) exitCode() int {
	if len(l.hidden) > 0 {
		return exitPartial
	}
	return 0
}

// list returns the locks at and below prefix.
func list(ctx context.Context, session *zklock.Session, prefix string) (listing, error) {
	l := listing{prefix: prefix}
	var mu sync.Mutex // guards l and below
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
					l.hidden = append(l.hidden, at.path)
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
				if len(v.found) > 0 {
					if v.key, v.hasKey, err = keyOf(ctx, session, at.path); err != nil {
						return err
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if len(v.found) > 0 {
					l.found = append(l.found, v)
				}
				below = append(below, within(at.path, names, v.found)...)
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return listing{}, err
		}
		level = below
	}
	slices.Sort(l.hidden)
	slices.SortFunc(l.found, func(a, b view) int { return strings.Compare(a.path, b.path) })
	return l, nil
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
		err = classify(&zklock.Error{Op: "list", Path: dir, Err: lacking("READ", dir, err)})
	}
	return names, err
}

// keyOf returns whose lock stands at that path, if it is one of a zklock.Keyed or may be. What a node says of
// its key may be hidden.
func keyOf(ctx context.Context, session *zklock.Session, at string) (key string, ok bool, err error) {
	var says []byte
	if recipe.KeyIsSaid(path.Base(at)) {
		says, err = request(ctx, session, func(conn *zk.Conn) ([]byte, error) {
			data, _, err := conn.Get(client.Of(session).Below(at))
			return data, err
		})
	}
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth) {
		err = nil
	}
	key, ok = recipe.KeyOf(path.Base(at), says)
	return key, ok, classify(err)
}

// keyIsElsewhere reports whether the path does not say the key as it is.
func (v view) keyIsElsewhere() bool { return v.hasKey && v.key != path.Base(v.path) }

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

// within returns dir's children but for the nodes of locks, of which those found are some. The line
// of a semaphore looks like a lock and is none, unlike its permits, which do not; but paths may have
// these names without being a semaphore's.
func within(dir string, names []string, found []zklock.Contender) (places []place) {
	foreign := make(map[string]bool)
	for _, c := range found {
		foreign[path.Base(c.Node)] = c.Foreign
	}
	semaphore := dir != "/" && slices.Contains(names, recipe.Permits)
	for _, name := range names {
		n, contends := recipe.Parse(name)
		if contends && !n.Foreign || foreign[name] || recipe.IsPermit(name) || dir == "/" && name == "zookeeper" {
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

func (l listing) writeTable(to io.Writer) error {
	var b strings.Builder
	switch {
	case len(l.found) > 0:
		l.table(&b)
	case len(l.hidden) > 0:
		fmt.Fprintf(&b, "Nobody holds a lock at or below %s, or waits for one, as far as it may be read.\n", l.prefix)
	default:
		fmt.Fprintf(&b, "Nobody holds a lock at or below %s, or waits for one.\n", l.prefix)
	}
	for _, path := range l.hidden {
		fmt.Fprintf(&b, "%s may not be read: the permission READ on it is missing.\n", plain.Name(path, longestName))
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func (l listing) table(to io.Writer) {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	keys := slices.ContainsFunc(l.found, view.keyIsElsewhere)
	fmt.Fprint(t, "PATH\tKIND\tHOLDER\tWAITERS\tAGE")
	if keys {
		fmt.Fprint(t, "\tKEY")
	}
	fmt.Fprintln(t)
	for _, v := range l.found {
		holders, waiters := v.held()
		holder := "-"
		if len(holders) > 0 {
			holder = describe(holders[0]).who()
		}
		if more := len(holders) - 1; more > 0 {
			holder += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s", plain.Name(v.path, longestName), v.found[0].Kind, holder, len(waiters), v.age(v.first()))
		if keys && v.hasKey {
			fmt.Fprintf(t, "\t%s", plain.Name(v.key, longestName))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func (l listing) writeJSON(to io.Writer) error {
	type lock struct {
		Path    string      `json:"path"`
		Kind    string      `json:"kind"`
		Holders []contender `json:"holders"`
		Waiters int         `json:"waiters"`
		Age     float64     `json:"age_seconds"`
		Key     *string     `json:"key,omitempty"` // that the path stands for, if it is UTF-8

		// KeyBase64 is one that is not.
		KeyBase64 []byte `json:"key_base64,omitempty"`
	}
	shown := make([]lock, len(l.found))
	for i, v := range l.found {
		holders, waiters := v.held()
		shown[i] = lock{v.path, v.found[0].Kind.String(), make([]contender, len(holders)), len(waiters), v.since(v.first()).Seconds(), nil, nil}
		switch {
		case v.hasKey && utf8.ValidString(v.key):
			shown[i].Key = &v.key
		case v.hasKey:
			shown[i].KeyBase64 = []byte(v.key)
		}
		for j, c := range holders {
			shown[i].Holders[j] = describe(c)
		}
	}
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Prefix     string   `json:"prefix"`
		Locks      []lock   `json:"locks"`
		Unreadable []string `json:"unreadable"`
	}{l.prefix, shown, append([]string{}, l.hidden...)})
}
