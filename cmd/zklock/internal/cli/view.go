package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/shown"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
	"github.com/zklock/zklock/internal/recipe"
)

// view is who held a lock and who waited for it at a moment.
type view struct {
	path  string
	whole string // with the session's chroot, as the nodes are told
	at    time.Time
	found []zklock.Contender
	state string // one of those below

	key    string // that it is the lock of, if hasKey; for ls alone
	hasKey bool
}

// What a path may be.
const (
	stateHeld    = "held"
	stateFree    = "free"    // nobody holds the lock or waits for it
	stateMissing = "missing" // likewise, and nothing is there
	stateNoLock  = "no lock" // something else is there
)

// What --exit-code answers.
const (
	answerFree    = 0
	answerHeld    = 1 // or waited for
	answerUnknown = 2
)

func (v view) answer() int {
	switch v.state {
	case stateFree, stateMissing:
		return answerFree
	case stateHeld:
		return answerHeld
	}
	return answerUnknown
}

// look inspects the lock. It gives up when a session that is lost would end.
func look(ctx context.Context, session *zklock.Session, path string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	found, err := zklock.Inspect(ctx, session, path)
	v := view{path: path, whole: client.Of(session).Below(path), at: time.Now(), found: found, state: stateHeld}
	err = lacking("READ", path, err) // or, of a semaphore, on what is in it
	if err == nil && len(found) == 0 {
		v.state, err = stateOf(ctx, session, path)
	}
	return v, classify(err)
}

// stateOf returns what a path is that nobody uses as a lock.
func stateOf(ctx context.Context, session *zklock.Session, path string) (string, error) {
	var stat *zk.Stat
	names, err := request(ctx, session, func(conn *zk.Conn) (names []string, err error) {
		names, stat, err = conn.Children(client.Of(session).Below(path))
		return names, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return stateMissing, nil
	case err != nil:
		return "", &zklock.Error{Op: "inspect", Path: path, Err: err}
	case client.IsEphemeral(stat), len(names) > 0 && !slices.ContainsFunc(names, tellsOfLock):
		return stateNoLock, nil
	}
	return stateFree, nil
}

// tellsOfLock reports whether the name of a child tells that its parent is a lock's path. Foreign
// ones, of which nobody uses any, tell nothing.
func tellsOfLock(name string) bool {
	n, ok := recipe.Parse(name)
	return ok && !n.Foreign || name == recipe.Permits || name == recipe.Turns
}

// writeJSON writes the view as one line.
func (v view) writeJSON(to io.Writer) error {
	contenders := make([]shown.Contender, len(v.found))
	for i, c := range v.found {
		contenders[i] = shown.Of(c)
	}
	return json.NewEncoder(plainWriter{to}).Encode(struct {
		Path       string            `json:"path"`
		State      string            `json:"state"`
		Contenders []shown.Contender `json:"contenders"`
	}{v.path, v.state, contenders})
}

// unused says of each state what a path is that nobody uses as a lock.
var unused = map[string]string{
	stateFree:    "is free.",
	stateMissing: "does not exist: no lock of this path has been used, or not lately.",
	stateNoLock:  "is no lock: something else is there. zklock ls lists the locks below a path.",
}

// writeTable writes the view for people, holders first.
func (v view) writeTable(to io.Writer) error {
	if len(v.found) == 0 {
		_, err := fmt.Fprintln(to, v.path, unused[v.state])
		return err
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STATE\tKIND\tWHO\tCOMMAND\tREVOKE\tHELD\tSINCE\tTOKEN\tSESSION\tNODE")
	for _, found := range v.found {
		c, state := shown.Of(found), "waits"
		if c.Held {
			state = "holds"
		}
		token, session := strconv.FormatInt(c.Token, 10), c.Session
		if c.Token == 0 { // which the servers do not tell of a node that may not be read
			token, session = "-", "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			state, c.Kind, c.Who(), c.Program(), c.Heeds(), v.age(c.HeldSince), v.age(c.Created), token, session, v.name(found))
	}
	t.Flush()
	kinds, told := v.kinds(), make(map[string]bool)
	for _, c := range v.found {
		p, ok := peerOf(c, kinds)
		if ok && !told[p.Lock] {
			told[p.Lock] = true
			fmt.Fprintf(&b, "%s is of %s, which may not wait for zklock's nodes: %s.\n", v.name(c), p.Lock, p.Cure)
		}
		if !ok || c.Persistent {
			b.WriteString(v.note(c))
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// kinds returns of which kinds those contenders are that this library has made.
func (v view) kinds() (kinds []recipe.Kind) {
	for _, c := range v.found {
		if kind := recipe.Kind(c.Kind); recipe.Ours(recipe.Base(c.Node)) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// peerOf returns whose lock c is of, if that may not wait for a contender of one of those kinds, or never waits.
func peerOf(c zklock.Contender, kinds []recipe.Kind) (p recipe.Peer, ok bool) {
	name := recipe.Base(c.Node)
	for _, kind := range kinds {
		if p, ok = recipe.PeerOf(name, kind); ok {
			return p, true
		}
	}
	p, ok = recipe.PeerOf(name, recipe.Exclusive)
	return p, ok && p.Never
}

// name is what is below the lock's path of a contender's node.
func (v view) name(c zklock.Contender) string {
	return strings.TrimPrefix(v.printableNode(c.Node), v.whole+"/")
}

// note says what is not as usual of a node, and what may be done.
func (v view) note(c zklock.Contender) string {
	name := v.name(c)
	switch {
	case c.Persistent:
		return fmt.Sprintf("%s is persistent: it goes with no session, and whoever comes behind it waits for ever.\n"+
			"If no program needs it, delete it: zklock break %s --node %s\n", name, v.path, name)
	case c.Foreign:
		return fmt.Sprintf("%s is of no form that zklock knows. It may be of another library's lock, and is waited for while its session lives.\n", name)
	}
	return ""
}

// age is how long ago the node was created, by the server's clock then and ours now, "-" if that
// is not known.
func (v view) age(created time.Time) string {
	if created.IsZero() {
		return "-"
	}
	return v.since(created).Round(time.Second).String()
}

// since is age as a number, 0 if it is not known.
func (v view) since(created time.Time) time.Duration {
	if created.IsZero() {
		return 0
	}
	return max(v.at.Sub(created), 0)
}

// first returns when the oldest node was created, of those of which that is known. Permits are in
// no order.
func (v view) first() (oldest time.Time) {
	for _, c := range v.found {
		if oldest.IsZero() || !c.Created.IsZero() && c.Created.Before(oldest) {
			oldest = c.Created
		}
	}
	return oldest
}

// printableNode cuts the name alone of a node below the lock's path.
func (v view) printableNode(node string) string {
	if name, ok := strings.CutPrefix(node, v.whole+"/"); ok {
		return v.whole + "/" + plain.Name(name, longestName)
	}
	return plain.Name(node, longestName)
}

// named returns the contenders that name may mean: the one whose node it is, as a full path or
// its last part; or else those whose node ends with it, which digits often stand for; or else
// those whose node has it anywhere in its last part.
func (v view) named(name string) (found []zklock.Contender) {
	for _, means := range []func(last, name string) bool{
		func(last, name string) bool { return last == path.Base(name) },
		strings.HasSuffix,
		strings.Contains,
	} {
		for _, c := range v.found {
			if (c.Node == name || !strings.Contains(name, "/")) && means(path.Base(c.Node), name) {
				found = append(found, c)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	return found
}

// one returns the contender that name means.
func (v view) one(name string) (zklock.Contender, error) {
	found := v.named(name)
	switch len(found) {
	case 0:
		return zklock.Contender{}, nobody(v.path, name)
	case 1:
		return found[0], nil
	}
	return zklock.Contender{}, withCode(exitFailure, fmt.Errorf("--node %q: %d nodes of %s have that in their name; give more of it, as zklock status %s shows it",
		name, len(found), v.path, v.path))
}
