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
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
)

func newList() *cobra.Command {
	var c connection
	var watch bool
	format := oneOf("table", "json")
	cmd := &cobra.Command{
		Use:   "ls [flags] PREFIX",
		Short: "List the locks below a path",
		Long: `Ls lists the locks at and below PREFIX that somebody holds or waits for: what kind each is,
who holds it, how many wait, and for how long the oldest node has been there, which for a
holder includes the wait; and the key, where a path has it escaped or hashed. Of what may not
be read it lists the paths alone, and ends with 66: somebody may hold a lock there.

With --watch it goes on, and writes a line for each lock that changes: that it is free is
one too. To the servers that is one watch, however many locks there are, and one read of each
node that is new.`,
		Example: `  zklock ls /
  zklock ls --format json /locks
  zklock ls --watch --format json /locks`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.onSession(cmd, func(ctx context.Context, session *zklock.Session, out io.Writer) error {
				if watch {
					write := change.writeLine
					if format.value == "json" {
						write = change.writeJSON
					}
					return tell(ctx, session, args[0], out, write)
				}
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
			var interrupted *job.Interrupted
			if watch && errors.As(err, &interrupted) {
				return exitWith(interrupted.ExitCode()) // which is how it is meant to end
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "go on, and write a line for each lock that changes")
	format.add(cmd, "format", "a table for people, or a line of JSON")
	c.flags(cmd)
	return cmd
}

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
	ctx, cancel := whileServed(ctx, session)
	defer cancel()
	found, err := zklock.List(ctx, session, prefix)
	l := listing{prefix: prefix}
	l.hidden, err = hiddenBy(prefix, err)
	for _, lock := range found {
		l.found = append(l.found, viewOf(session, lock))
	}
	return l, err
}

// viewOf returns the view of a lock that was found.
func viewOf(session *zklock.Session, l zklock.KeyedLock) view {
	v := view{path: l.Path, whole: client.Of(session).Below(l.Path), at: time.Now(), found: l.Contenders, state: stateHeld, key: l.Key, hasKey: l.HasKey}
	if len(v.found) == 0 {
		v.state = stateFree
	}
	return v
}

// hiddenBy returns the paths that err says may not be read, if that is all it says, or else the error.
func hiddenBy(prefix string, err error) ([]string, error) {
	var hidden *zklock.HiddenError
	if errors.As(err, &hidden) {
		return hidden.Paths, nil
	}
	return nil, classify(lacking("READ", prefix, err))
}

// whileServed returns a context that ends when the session has had no connection for so long that it
// may have ended.
func whileServed(ctx context.Context, session *zklock.Session) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for c := client.Of(session); ctx.Err() == nil; {
			changed, late := c.Changed(), (<-chan time.Time)(nil)
			if c.Current() == nil {
				late = time.After(session.Timeout())
			}
			select {
			case <-changed:
			case <-late:
				cancel(context.DeadlineExceeded)
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// keyIsElsewhere reports whether the path does not say the key as it is.
func (v view) keyIsElsewhere() bool { return v.hasKey && v.key != path.Base(v.path) }

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

// holder is who holds the lock, "-" if nobody does.
func (v view) holder() string {
	holders, _ := v.held()
	switch len(holders) {
	case 0:
		return "-"
	case 1:
		return shown.Of(holders[0]).Who()
	}
	return fmt.Sprintf("%s and %d more", shown.Of(holders[0]).Who(), len(holders)-1)
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
		_, waiters := v.held()
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s", plain.Name(v.path, longestName), v.found[0].Kind, v.holder(), len(waiters), v.age(v.first()))
		if keys && v.hasKey {
			fmt.Fprintf(t, "\t%s", plain.Name(v.key, longestName))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// lockLine is what JSON says of a lock.
type lockLine struct {
	Path    string            `json:"path"`
	Kind    string            `json:"kind"`
	Holders []shown.Contender `json:"holders"`
	Waiters int               `json:"waiters"`
	Age     float64           `json:"age_seconds"`
	Key     *string           `json:"key,omitempty"` // that the path stands for, if it is UTF-8

	// KeyBase64 is one that is not.
	KeyBase64 []byte `json:"key_base64,omitempty"`
}

func (v view) line() lockLine {
	holders, waiters := v.held()
	line := lockLine{Path: v.path, Holders: make([]shown.Contender, len(holders)), Waiters: len(waiters), Age: v.since(v.first()).Seconds()}
	if len(v.found) > 0 {
		line.Kind = v.found[0].Kind.String()
	}
	switch {
	case v.hasKey && utf8.ValidString(v.key):
		line.Key = &v.key
	case v.hasKey:
		line.KeyBase64 = []byte(v.key)
	}
	for i, c := range holders {
		line.Holders[i] = shown.Of(c)
	}
	return line
}

func (l listing) writeJSON(to io.Writer) error {
	shown := make([]lockLine, len(l.found))
	for i, v := range l.found {
		shown[i] = v.line()
	}
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Prefix     string     `json:"prefix"`
		Locks      []lockLine `json:"locks"`
		Unreadable []string   `json:"unreadable"`
	}{l.prefix, shown, append([]string{}, l.hidden...)})
}
