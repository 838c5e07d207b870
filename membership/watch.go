package membership

import (
	"context"
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

const (
	// readsAtOnce is how many members are read at the same time.
	readsAtOnce = 32

	// maxAlarms is how many watches are waited for; reflect.Select takes no more
	// than 65536 cases. What goes beyond is left to the interval.
	maxAlarms = 60000

	// A watcher reads a list of n nodes once in n times perChild, and once in
	// maxRest, while changes follow each other: of a thousand servers that watch each
	// other while they are restarted, each reads the list once a second.
	perChild = time.Millisecond
	maxRest  = time.Second

	// asked is how many members' watches are made sure of in an interval, and askedOthers how many
	// of the other children's: a member may come under the name of one.
	asked       = 4
	askedOthers = 1

	// askedOfLeader is for how many children the leader is asked, once a minute: a write for each
	// would be too dear.
	askedOfLeader = 128

	// undoubted, as a doubt, is one of the client's watches alone: the server is asked nothing.
	undoubted = time.Duration(math.MaxInt64)

	// gather is for the events that come right behind the first: who leaves makes one
	// for its node and one for the list.
	gather = 2 * time.Millisecond
)

// Watch yields the members of path at once, and then after every change: a member
// came, went, or changed its data. Each list is complete, in the order of
// [Peer.Zxid], and the caller's to keep. Changes that come while the loop's body
// runs, or close together, show in one list: the last list is always the truth,
// those between need not be. A change shows at once, but one that follows another, be it
// of a child that is no member, waits up to a millisecond for each child of the path, and
// a second at most, for those that follow it.
//
// Every ephemeral child of the path that the session may read is a member, whoever
// created it. One that is forbidden to it later shows as it was until it changes, or until
// its turn (see [WithInterval]) if the server does not let the session ask whether it has,
// as from ZooKeeper 3.9.2 on; then it is missing. A path that does not exist has no members
// yet. Watch survives lost connections and expired sessions: while there is no connection,
// the list stays as it is.
//
// The sequence ends when ctx does. It yields an error and ends if it cannot go on:
// a bad argument, a path that the session may not read (zk.ErrNoAuth), a closed
// session ([zklock.ErrClosed]).
func Watch(ctx context.Context, s *zklock.Session, path string, opts ...Option) iter.Seq2[[]Peer, error] {
	client.NeedsContext(ctx)
	return func(yield func([]Peer, error) bool) {
		o, err := newOptions(s, path, opts)
		if err != nil {
			yield(nil, wrap("watch", path, err))
			return
		}
		path := client.Of(s).Below(path)
		w := &watcher{session: s, path: path, options: o, doubting: time.NewTicker(o.interval), list: new(sight)}
		defer w.doubting.Stop()
		err = w.run(ctx, func(peers []Peer) bool { return yield(peers, nil) })
		if err != nil && ctx.Err() == nil {
			yield(nil, wrap("watch", path, err))
		}
	}
}

type watcher struct {
	session  *zklock.Session
	path     string
	options  *options
	doubting *time.Ticker    // when the watches are not to be relied on
	hidden   map[string]bool // the children that may not be read
	list     *sight          // the newest, for which they were tried
	turned   string          // the child for which the leader was asked last
}

// alarm is how a watch tells that what it stands for has changed.
type alarm = <-chan zk.Event

// run yields lists until it fails or yield has had enough.
func (w *watcher) run(ctx context.Context, yield func([]Peer) bool) error {
	var last []Peer
	var rested time.Time
	doubt := w.options.interval
	for first, failures := true, 0; ; {
		peers, alarms, err := w.read(ctx, doubt)
		switch {
		case ctx.Err() != nil || client.Refused(err) || errors.Is(err, zklock.ErrClosed):
			return err
		case err != nil:
			failures++
			_ = client.Of(w.session).Sleep(ctx, backoff.Before(failures))
			continue
		}
		if !first && doubt != 0 {
			w.confirm(ctx)
		}
		changed := first || !slices.EqualFunc(peers, last, Peer.same)
		if !first && (changed || doubt == 0) {
			rested = time.Now().Add(min(time.Duration(len(w.list.names))*perChild, maxRest))
		}
		if changed {
			last, first = slices.Clone(peers), false
			if !yield(peers) {
				return nil
			}
		}
		failures, doubt = 0, 0
		if w.await(ctx, alarms) {
			doubt = w.options.interval
		}
		_ = client.Of(w.session).Sleep(ctx, max(time.Until(rested), gather))
	}
}

// read returns the members, and what gives the alarm when they change.
func (w *watcher) read(ctx context.Context, doubt time.Duration) ([]Peer, []alarm, error) {
	list, err := look(ctx, w.session, view{w.path, children}, doubt)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := w.readEach(ctx, list, doubt)
	if err != nil {
		return nil, nil, err
	}
	w.list = list
	var peers []Peer
	alarms := []alarm{list.changed}
	for i, node := range nodes {
		if node == nil || node.stat.EphemeralOwner == 0 {
			continue
		}
		peers = append(peers, newPeer(list.names[i], node.data, node.stat))
		alarms = append(alarms, node.changed)
	}
	slices.SortFunc(peers, byAge)
	return peers, alarms, nil
}

// readEach reads the members on the list; nil stands for one that has gone meanwhile, or
// that may not be read. Of those it is doubted whether that is still so, also if there is a
// new list: a name that is on both may be another node's. To doubt the server for each of the
// others would cost a request for each: some have their turn.
func (w *watcher) readEach(ctx context.Context, list *sight, doubt time.Duration) ([]*sight, error) {
	names := list.names
	var due map[string]bool
	if doubt != 0 {
		due = sightsOf(w.session).turn(w.path, list, doubt)
	}
	nodes, refused := make([]*sight, len(names)), make([]error, len(names))
	done := ctx.Done()
	under, cancel := context.WithCancel(context.Background())
	defer cancel()
	var reads errgroup.Group
	for first := range min(readsAtOnce, len(names)) {
		reads.Go(func() error {
			for i := first; i < len(names); i += readsAtOnce {
				if w.hidden[names[i]] && doubt == 0 && list == w.list {
					refused[i] = zk.ErrNoAuth
					continue
				}
				each := doubt
				if doubt != 0 && !due[names[i]] {
					each = undoubted
				}
				node, err := look(under, w.session, view{recipe.Join(w.path, names[i]), data}, each)
				switch {
				case err == nil:
					nodes[i] = node
				case client.Refused(err):
					refused[i] = err
				case !errors.Is(err, zk.ErrNoNode):
					return err // nothing is tried for the rest, of which there may be thousands
				}
			}
			return nil
		})
	}
	all := make(chan error, 1)
	go func() { all <- reads.Wait() }()
	select {
	case err := <-all:
		if err != nil {
			return nil, err
		}
	case <-done:
		cancel()
		<-all
		return nil, client.Ended(ctx)
	}
	return nodes, w.hide(ctx, names, refused)
}

// confirm asks the leader for what the server shows, of many children for some in turn. If the server
// is stale the session goes to another one, and the watches that are set again there tell.
func (w *watcher) confirm(ctx context.Context) {
	c := client.Of(w.session)
	if !c.DueToConfirm("members of " + w.path) {
		return
	}
	confirm := func() error { return c.Confirm(w.path) }
	if w.list.stat != nil {
		shown := w.inTurn(w.list.names)
		confirm = func() error { return c.ConfirmAll(shown) }
	}
	_ = c.ConfirmUnder(ctx, confirm)
}

// inTurn returns the path, and the children for which the leader is to be asked next.
func (w *watcher) inTurn(names []string) []string {
	names = slices.Sorted(slices.Values(names))
	from, found := slices.BinarySearch(names, w.turned)
	if found {
		from++
	}
	if from == len(names) {
		from = 0
	}
	paths := []string{w.path}
	for _, name := range names[from:min(len(names), from+askedOfLeader)] {
		paths, w.turned = append(paths, recipe.Join(w.path, name)), name
	}
	return paths
}

// hide notes which of the named children could not be read.
func (w *watcher) hide(ctx context.Context, names []string, refused []error) error {
	hidden := make(map[string]bool)
	for i, name := range names {
		if refused[i] == nil {
			continue
		}
		hidden[name] = true
		if w.hidden[name] {
			continue
		}
		if err := w.warn(ctx, recipe.Join(w.path, name), refused[i]); err != nil {
			return err
		}
	}
	w.hidden = hidden
	return nil
}

// warn logs that a member may not be read, and waits for the user's logger as long as the Watch
// goes on.
func (w *watcher) warn(ctx context.Context, node string, refusal error) error {
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		w.options.log.Warn("membership: a member may not be read", "node", client.Plainly(node), "error", client.Plainly(refusal))
	}()
	select {
	case <-logged:
		return nil
	case <-ctx.Done():
		return client.Ended(ctx)
	case <-w.session.Closed():
		return zklock.ErrClosed
	}
}

// await returns when there may be something new, and reports whether the watches
// are to be doubted then.
func (w *watcher) await(ctx context.Context, alarms []alarm) (doubt bool) {
	receive := func(c any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	cases := []reflect.SelectCase{receive(w.doubting.C), receive(ctx.Done()), receive(w.session.Closed())}
	for _, a := range alarms[:min(len(alarms), maxAlarms)] {
		cases = append(cases, receive(a))
	}
	if chosen, _, _ := reflect.Select(cases); chosen == 0 {
		return true
	}
	select { // or many alarms hide for long that the interval is over
	case <-w.doubting.C:
		return true
	default:
		return false
	}
}
