package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
)

// Keyed is a lock for each key, all below one path, as a map of mutexes would be: of orders, users or
// files, say. All who use the same path and key, in any process, exclude each other; different keys
// have nothing to do with each other. A key is any string, and its node is called so: see
// [Keyed.PathOf].
//
// In this process nothing is kept of a key that nobody holds or waits for. At the servers its node is
// a container that is removed some time after the last hold, a minute or two by default, and 10,000 a
// minute; see [WithStripes] for keys that come and go faster.
//
// Each lock has the rules of a [Locker.Acquire] and [Locker.Do]. No goroutine owns it: a call that
// would wait for a hold of the same key that its own context carries returns [ErrDeadlock]; without
// such a context it waits for ever. Two that take two keys one after the other, in different orders,
// wait for each other: for several keys make the locks of their paths one by [NewMulti].
type Keyed struct {
	_       noCopy
	session *Session
	path    string // with the chroot
	prefix  string // without it
	options *options

	mu    sync.Mutex // guards locks; nothing is locked under it
	locks map[string]*keyLock
}

// keyLock is the lock of a key, or of a stripe, as long as somebody uses it. All who do share it: who
// had another would not see a lost hold whose owner has yet to stop, nor share a handoff.
type keyLock struct {
	*Locker
	users int
}

// NewKeyed returns the locks of keys below path, of which it creates nothing yet. Its errors are those
// of [New]. Of the options WithoutOwner is an error, since no goroutine owns such a lock, and so is
// WithRetention without [WithStripes]: it keeps what nobody uses.
//
// The path is for keys only: another lock on it does not wait for them, but a client of another
// library may take their nodes for its own. An access list ([WithACL]) is that of each key's lock and
// of the path.
func NewKeyed(s *Session, path string, opts ...Option) (*Keyed, error) {
	o, whole, err := checkNew(s, path, recipe.Exclusive, append(slices.Clip(opts), func(o *options) { o.keyed = true }))
	if err != nil {
		return nil, err
	}
	longest := recipe.Join(whole, strings.Repeat("k", recipe.LongestKeyName))
	if err := o.checkCreate(longest); err != nil {
		return nil, wrap("new", path, err)
	}
	return &Keyed{session: s, path: whole, prefix: path, options: o, locks: make(map[string]*keyLock)}, nil
}

// WithStripes has all keys of a [Keyed] share n locks, with paths that stay the same: which one a key
// has is decided by its SHA-256. It is for keys that are many and short-lived, and bounds what servers
// and processes keep of them. Two keys of one stripe exclude each other, so that somebody may wait
// though nobody has its key: take n much larger than the number of holds at a time. A function that
// holds a key and asks for another one under its context is told [ErrDeadlock] if both have the same
// stripe, and a process that takes a second key at all may wait for one that does so the other way
// round: take one key at a time.
//
// All who use the path have to say the same n, 65,536 or less. Those who do not, or use no stripes,
// have other locks for the same keys, which nobody notices: give another n another path, and stop all
// who use the old one first. It is an error of any lock that is not a Keyed.
func WithStripes(n int) Option {
	return func(o *options) { o.striped, o.stripes = true, n }
}

// checkKeyed returns an error if an option has no effect on what a Keyed gives.
func (o *options) checkKeyed() error {
	switch {
	case o.striped && (o.stripes < 1 || o.stripes > recipe.MostStripes):
		return fmt.Errorf("WithStripes(%d): it must be from 1 to %d", o.stripes, recipe.MostStripes)
	case o.ownerless:
		return errors.New("WithoutOwner: it is for a Locker or an RWLocker: no goroutine owns a Keyed's locks in any case")
	case o.retention > 0 && !o.striped:
		return fmt.Errorf("WithRetention(%v): nothing is kept of a key that nobody uses: it goes with WithStripes", o.retention)
	}
	return nil
}

// PathOf returns the path of key's lock as [New], [Inspect] and [Revoke] take it: below the session's
// chroot, if there is one. Its last part is the key, in which %XX stands for a byte that may not be
// there: of a slash, a percent sign, what ZooKeeper refuses, and at the end of what would look like a
// lock's node. The empty key has the name "%". A key whose name would have more than 200 bytes is
// called by its SHA-256, and its node says the key, if a Keyed has made it; a key of more than 65,536 bytes
// is refused. With [WithStripes] it is the path of key's stripe.
func (k *Keyed) PathOf(key string) string {
	must(k.made("path"))
	name, _ := k.name(key)
	return recipe.Join(k.prefix, name)
}

// name returns the name of the node of key's lock, and what that is to say.
func (k *Keyed) name(key string) (name string, says []byte) {
	if n := k.options.stripes; k.options.striped {
		return recipe.StripeName(recipe.StripeOf(key, n), n), nil
	}
	return recipe.KeyName(key)
}

// Acquire takes the lock of key, as [Locker.Acquire] does.
func (k *Keyed) Acquire(ctx context.Context, key string) (*Hold, error) {
	return k.handle(ctx, "acquire", key, (*Locker).Acquire)
}

// TryAcquire takes the lock of key without waiting for another owner, as [Locker.TryAcquire] does.
func (k *Keyed) TryAcquire(ctx context.Context, key string) (*Hold, error) {
	return k.handle(ctx, "try", key, (*Locker).TryAcquire)
}

// Do runs fn while it holds the lock of key, as [Locker.Do] does.
func (k *Keyed) Do(ctx context.Context, key string, fn func(ctx context.Context) error) error {
	l, leave, err := k.use("do", key)
	if err != nil {
		return err
	}
	defer leave()
	return l.Do(ctx, fn)
}

// handle takes the lock of key by get. It is used until the hold has ended.
func (k *Keyed) handle(
	ctx context.Context, op, key string, get func(*Locker, context.Context) (*Hold, error),
) (*Hold, error) {
	l, leave, err := k.use(op, key)
	if err != nil {
		return nil, err
	}
	var h *Hold
	defer func() { // also if a context of the user's panics
		if h == nil {
			leave()
		}
	}()
	if h, err = get(l, ctx); err != nil {
		return nil, err
	}
	h.hold.WhenEnded(func(error) { leave() })
	return h, nil
}

// use returns the lock of key, which is kept until leave is called.
func (k *Keyed) use(op, key string) (l *Locker, leave func(), err error) {
	if err := k.made(op); err != nil {
		return nil, nil, err
	}
	name, says := k.name(key)
	if len(says) > recipe.LongestKey {
		return nil, nil, wrap(op, k.path, fmt.Errorf("the key has %d bytes: it must not have more than %d", len(key), recipe.LongestKey))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	used := k.locks[name]
	if used == nil {
		used = &keyLock{Locker: k.locker(name, says)}
		k.locks[name] = used
	}
	used.users++
	return used.Locker, func() { k.leave(name, used) }, nil
}

// leave takes that one of those who use a lock does so no more. Stripes stay.
func (k *Keyed) leave(name string, used *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if used.users--; used.users == 0 && !k.options.striped {
		delete(k.locks, name)
	}
}

func (k *Keyed) locker(name string, says []byte) *Locker {
	path := recipe.Join(k.path, name)
	o := k.options.queue(path)
	o.Says = says
	return newLocker(queue.New(k.session.locks, path, recipe.Exclusive, o), k.options)
}
