package lock_test

import (
	"context"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// Every public call that takes a context, and every one that has a time limit of its own,
// returns when that ends, whatever keeps it from going on: in virtual time at that very
// instant. Each call meets each obstacle ahead of each of the requests that it sends, and while
// it waits.

// obstacles are what keeps the caller's session from going on, from the moment of strike.
var obstacles = map[string]func(*hindered){
	"disconnected": func(w *hindered) {
		w.server.Refuse(true)
		w.place.Cut()
	},
	"hung server":    func(w *hindered) { w.place.Block(zktest.ToServer) },
	"mute server":    func(w *hindered) { w.place.Block(zktest.ToClient) },
	"stalled socket": func(w *hindered) { w.wire.stall() },
	"slow dial": func(w *hindered) {
		w.wire.dialSlowly()
		w.place.Cut()
	},
	"closing session": func(w *hindered) {
		w.place.Block(zktest.ToServer)
		w.closing.Go(func() { w.mine.Close() })
	},
}

// hindered is the world of a call that meets an obstacle.
type hindered struct {
	*scene
	place   *zktest.Client // the caller's
	wire    *wire
	until   time.Time // when the call has to be over
	member  *membership.Member
	closing sync.WaitGroup
	holds   *zklock.MultiHold
}

func newHindered(t *testing.T, options []zklock.Option, server ...zktest.Option) *hindered {
	w := &hindered{scene: &scene{t: t, server: zktest.NewServer(t, server...), options: options, ctx: t.Context()}}
	w.place = w.server.Client("mine")
	w.wire = &wire{dial: w.place.Dial}
	w.mine, w.theirs = w.actorVia(w.wire.connect), w.actor("theirs")
	return w
}

// wire is the dialer of the caller's session.
type wire struct {
	dial zk.Dialer

	mu      sync.Mutex
	frames  int    // that pass until up is called
	up      func() // puts the obstacle up
	stalled bool
	slow    bool
}

func (w *wire) connect(network, address string, timeout time.Duration) (net.Conn, error) {
	w.mu.Lock()
	slow := w.slow
	w.mu.Unlock()
	if slow {
		time.Sleep(timeout)
	}
	conn, err := w.dial(network, address, timeout)
	if err != nil {
		return nil, err
	}
	hole, far := net.Pipe()
	return &wireConn{Conn: conn, wire: w, hole: hole, far: far}, nil
}

func (w *wire) stall() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = true
}

func (w *wire) dialSlowly() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = true
}

// arm has up called ahead of the frame that comes after so many.
func (w *wire) arm(frames int, up func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames, w.up = frames, up
}

// remain tells whether fewer frames have come than up waits for.
func (w *wire) remain() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frames >= 0
}

// pass counts a frame, and tells whether it gets stuck.
func (w *wire) pass() (stalled bool) {
	w.mu.Lock()
	w.frames--
	up, due := w.up, w.frames < 0
	w.mu.Unlock()
	if due && up != nil {
		up()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalled
}

// wireConn is a connection whose writes block once the wire is stalled: they go into a pipe
// that nobody reads.
type wireConn struct {
	net.Conn
	wire      *wire
	hole, far net.Conn
}

func (c *wireConn) Write(frame []byte) (int, error) {
	if c.wire.pass() {
		return c.hole.Write(frame)
	}
	return c.Conn.Write(frame)
}

func (c *wireConn) SetWriteDeadline(t time.Time) error {
	c.hole.SetWriteDeadline(t)
	return c.Conn.SetWriteDeadline(t)
}

func (c *wireConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *wireConn) Close() error {
	c.hole.Close()
	c.far.Close()
	return c.Conn.Close()
}

// timely is a call and what has to be done ahead of it.
type timely struct {
	before func(*hindered)
	call   func(w *hindered, ctx context.Context) error
}

func lockedByThem(w *hindered)  { w.theirs.lock.Lock() }
func lastByThem(w *hindered)    { w.theirs.parts[2].Lock() }
func readByThem(w *hindered)    { w.theirs.rw.RLock() }
func writtenByThem(w *hindered) { w.theirs.rw.Lock() }
func writtenByUs(w *hindered)   { w.mine.rw.Lock() }
func permitsByThem(w *hindered) { must(w.theirs.sem.Acquire(w.ctx, 2)) }
func joinedByUs(w *hindered) {
	w.member = must(membership.Join(w.ctx, w.mine.Session, "/servers", nil))
}

func nothing(context.Context) error { return nil }

func (w *hindered) left() time.Duration { return time.Until(w.until) }

// contextual are the types whose methods are called, each with the value that the caller has.
var contextual = map[reflect.Type]func(w *hindered) any{
	reflect.TypeFor[*zklock.Locker]():      func(w *hindered) any { return w.mine.lock },
	reflect.TypeFor[*zklock.RWLocker]():    func(w *hindered) any { return w.mine.rw },
	reflect.TypeFor[*zklock.Semaphore]():   func(w *hindered) any { return w.mine.sem },
	reflect.TypeFor[*zklock.MultiLocker](): func(w *hindered) any { return w.mine.multi },
	reflect.TypeFor[*zklock.Hold]():        func(w *hindered) any { return w.mine.hold },
	reflect.TypeFor[*zklock.MultiHold]():   func(w *hindered) any { return w.holds },
	reflect.TypeFor[*zklock.Session]():     func(w *hindered) any { return w.mine.Session },
	reflect.TypeFor[*membership.Member]():  func(w *hindered) any { return w.member },
}

// met is what a method finds besides a world in which all is free; "" is instead of that.
var met = map[string]map[string]func(*hindered){
	"Locker.LockContext":        {"behind": lockedByThem, "after a loss": loseByAnother},
	"Locker.TryLockFor":         {"behind": lockedByThem},
	"Locker.UnlockContext":      {"": func(w *hindered) { w.mine.lock.Lock() }},
	"Hold.Release":              {"": func(w *hindered) { w.mine.hold = must(w.mine.lock.Acquire(w.ctx)) }},
	"RWLocker.LockContext":      {"behind": readByThem},
	"RWLocker.UnlockContext":    {"": writtenByUs},
	"RWLocker.RLockContext":     {"behind": writtenByThem, "writing": writtenByUs},
	"RWLocker.TryRLock":         {"writing": writtenByUs},
	"RWLocker.RUnlockContext":   {"": func(w *hindered) { w.mine.rw.RLock() }},
	"Semaphore.Acquire":         {"behind": permitsByThem},
	"MultiLocker.LockContext":   {"last": lastByThem},
	"MultiLocker.Acquire":       {"last": lastByThem},
	"MultiLocker.TryLockFor":    {"last": lastByThem},
	"MultiLocker.TryLock":       {"last": lastByThem},
	"MultiLocker.UnlockContext": {"": func(w *hindered) { w.mine.multi.Lock() }},
	"MultiHold.Release":         {"": func(w *hindered) { w.holds = must(w.mine.multi.Acquire(w.ctx)) }},
	"Session.Shutdown":          {"held": func(w *hindered) { w.mine.lock.Lock() }},
	"Member.Update":             {"": joinedByUs},
	"Member.Leave":              {"": joinedByUs},
}

// timelyCalls are those of the methods that take a context, or have a time limit of their own, and others.
func timelyCalls() map[string]timely {
	calls := map[string]timely{
		"Locker.TryLockFor 0":           {nil, func(w *hindered, ctx context.Context) error { return errOf(w.mine.lock.TryLockFor(ctx, 0)) }},
		"MultiLocker.TryLockFor 0":      {nil, func(w *hindered, ctx context.Context) error { return errOf(w.mine.multi.TryLockFor(ctx, 0)) }},
		"MultiLocker.TryLockFor 0 last": {lastByThem, func(w *hindered, ctx context.Context) error { return errOf(w.mine.multi.TryLockFor(ctx, 0)) }},
		"Locker.Do that panics":         {nil, doAndPanic},
		"Inspect": {lockedByThem, func(w *hindered, ctx context.Context) error {
			return errOf(zklock.Inspect(ctx, w.mine.Session, statesPath))
		}},
		"Revoke": {lockedByThem, func(w *hindered, ctx context.Context) error { return zklock.Revoke(ctx, w.mine.Session, statesPath) }},
		"membership.Join": {nil, func(w *hindered, ctx context.Context) error {
			return errOf(membership.Join(ctx, w.mine.Session, "/servers", nil))
		}},
		"membership.Watch": {joinedByUs, func(w *hindered, ctx context.Context) (err error) {
			for _, err = range membership.Watch(ctx, w.mine.Session, "/servers") {
			}
			return err
		}},
	}
	for of, value := range contextual {
		for i := range of.NumMethod() {
			method, takes := of.Method(i), strings.HasPrefix(of.Method(i).Name, "Try")
			for in := range method.Type.NumIn() {
				takes = takes || method.Type.In(in) == reflect.TypeFor[context.Context]()
			}
			if !takes {
				continue
			}
			name := of.Elem().Name() + "." + method.Name
			call := func(w *hindered, ctx context.Context) error { return w.invoke(method, value(w), ctx) }
			calls[name] = timely{met[name][""], call}
			for state, before := range met[name] {
				calls[strings.TrimSpace(name+" "+state)] = timely{before, call}
			}
		}
	}
	return calls
}

// invoke calls a method with what it takes, and returns its error. What has a time of its own is to
// end by that.
func (w *hindered) invoke(method reflect.Method, value any, ctx context.Context) error {
	args := []reflect.Value{reflect.ValueOf(value)}
	for i := 1; i < method.Type.NumIn(); i++ {
		switch in := method.Type.In(i); in {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(&ctx).Elem())
		case reflect.TypeFor[time.Duration]():
			args = append(args, reflect.ValueOf(w.left()))
			if ctx != nil {
				ctx = w.ctx
			}
		case reflect.TypeFor[int]():
			args = append(args, reflect.ValueOf(2))
		case reflect.TypeFor[[]byte]():
			args = append(args, reflect.ValueOf([]byte("more")))
		default:
			args = append(args, reflect.ValueOf(nothing))
		}
	}
	results := method.Func.Call(args)
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

func doAndPanic(w *hindered, ctx context.Context) error {
	defer func() { _ = recover() }()
	return w.mine.lock.Do(ctx, func(context.Context) error { panic("stop") })
}

// loseByAnother has another goroutine of the process keep a lock that it has lost.
func loseByAnother(w *hindered) {
	w.stays(w.mine.lock.Lock)
	synctest.Wait()
	for _, node := range w.server.Nodes() {
		if node.Stat.EphemeralOwner != 0 {
			must(0, w.theirs.Conn().Delete(node.Path, -1))
		}
	}
	synctest.Wait()
}

func TestEveryCallReturnsWhenItsContextEnds(t *testing.T) {
	for name, options := range map[string][]zklock.Option{
		"plain": nil, "handoff": {zklock.WithHandoff(4)}, "retention": {zklock.WithRetention(time.Minute)},
	} {
		for method, c := range timelyCalls() {
			if options != nil && !strings.HasPrefix(method, "Locker.") && !strings.HasPrefix(method, "MultiLocker.") {
				continue // they are options of a Locker
			}
			for obstacle, strike := range obstacles {
				t.Run(name+"/"+method+"/"+obstacle, func(t *testing.T) {
					t.Parallel()
					c.sweep(t, options, strike)
				})
			}
		}
	}
}

// sweep has the obstacle come up ahead of each frame that the call sends.
func (c timely) sweep(t *testing.T, options []zklock.Option, strike func(*hindered)) {
	for frames := 0; ; frames++ {
		last := false
		virtual.Test(t, func(t *testing.T) {
			last = newHindered(t, options).play(c, strike, frames)
		})
		if last || t.Failed() {
			return
		}
	}
}

// play makes the call, and tells whether it sends fewer frames than the obstacle lets pass.
func (w *hindered) play(c timely, strike func(*hindered), frames int) (last bool) {
	defer w.end()
	struck, returned := make(chan struct{}), make(chan time.Time, 1)
	up := sync.OnceFunc(func() {
		strike(w)
		close(struck)
	})
	w.stays(func() {
		if c.before != nil {
			c.before(w)
		}
		time.Sleep(time.Second) // for what goes on in the background
		if frames == 0 {
			up()
			time.Sleep(time.Millisecond)
		}
		w.wire.arm(frames, up)
		w.until = time.Now().Add(w.mine.Timeout() / 3)
		ctx, cancel := context.WithDeadline(w.ctx, w.until)
		defer cancel()
		late := time.AfterFunc(w.left()/2, up)
		defer late.Stop()
		_ = c.call(w, ctx)
		returned <- time.Now()
	})
	select {
	case at := <-returned:
		require.LessOrEqual(w.t, at.Sub(w.until), time.Duration(0), "it is late, from frame %d on", frames)
	case <-time.After(10 * statesTime):
		require.Fail(w.t, "it does not return", "from frame %d on", frames)
	}
	return frames > 0 && (!isClosed(struck) || w.wire.remain())
}

// end lifts the obstacle and ends the world.
func (w *hindered) end() {
	w.server.Refuse(false)
	w.place.Unblock()
	w.wire.arm(0, nil)
	time.Sleep(time.Millisecond)
	w.closing.Wait() // a second Close would wait for it in a way that stops the virtual time
	for _, f := range w.atEnd {
		f()
	}
}
