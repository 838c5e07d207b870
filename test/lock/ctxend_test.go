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
	release func(context.Context) error
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

// timely is a call and what has to be done ahead of it. The name of each begins with the method
// that it makes.
type timely struct {
	before func(*hindered)
	call   func(w *hindered, ctx context.Context)
}

func lockedByThem(w *hindered)  { w.theirs.lock.Lock() }
func lastByThem(w *hindered)    { w.theirs.parts[2].Lock() }
func readByThem(w *hindered)    { w.theirs.rw.RLock() }
func writtenByThem(w *hindered) { w.theirs.rw.Lock() }
func permitsByThem(w *hindered) { must(w.theirs.sem.Acquire(w.ctx, 2)) }

func nothing(context.Context) error { return nil }

func (w *hindered) left() time.Duration { return time.Until(w.until) }

var timelyCalls = map[string]timely{
	"Locker.LockContext":        {nil, func(w *hindered, ctx context.Context) { _ = w.mine.lock.LockContext(ctx) }},
	"Locker.LockContext behind": {lockedByThem, func(w *hindered, ctx context.Context) { _ = w.mine.lock.LockContext(ctx) }},
	"Locker.TryLockFor 0":       {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.lock.TryLockFor(ctx, 0) }},
	"Locker.TryLockFor":         {nil, func(w *hindered, _ context.Context) { _, _ = w.mine.lock.TryLockFor(w.ctx, w.left()) }},
	"Locker.TryLockFor behind":  {lockedByThem, func(w *hindered, _ context.Context) { _, _ = w.mine.lock.TryLockFor(w.ctx, w.left()) }},
	"Locker.TryLock":            {nil, func(w *hindered, _ context.Context) { w.mine.lock.TryLock() }},
	"Locker.Acquire":            {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.lock.Acquire(ctx) }},
	"Locker.TryAcquire":         {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.lock.TryAcquire(ctx) }},
	"Locker.UnlockContext":      {func(w *hindered) { w.mine.lock.Lock() }, func(w *hindered, ctx context.Context) { _ = w.mine.lock.UnlockContext(ctx) }},
	"Locker.Do": {nil, func(w *hindered, ctx context.Context) {
		_ = w.mine.lock.Do(ctx, func(context.Context) error { return nil })
	}},
	"Locker.Do that panics":           {nil, doAndPanic},
	"Locker.LockContext after a loss": {loseByAnother, func(w *hindered, ctx context.Context) { _ = w.mine.lock.LockContext(ctx) }},

	"Hold.Release": {func(w *hindered) { w.mine.hold = must(w.mine.lock.Acquire(w.ctx)) }, func(w *hindered, ctx context.Context) { _ = w.mine.hold.Release(ctx) }},

	"RWLocker.LockContext":           {nil, func(w *hindered, ctx context.Context) { _ = w.mine.rw.LockContext(ctx) }},
	"RWLocker.LockContext behind":    {readByThem, func(w *hindered, ctx context.Context) { _ = w.mine.rw.LockContext(ctx) }},
	"RWLocker.Do":                    {nil, func(w *hindered, ctx context.Context) { _ = w.mine.rw.Do(ctx, nothing) }},
	"RWLocker.RDo":                   {nil, func(w *hindered, ctx context.Context) { _ = w.mine.rw.RDo(ctx, nothing) }},
	"RWLocker.TryLockFor":            {nil, func(w *hindered, _ context.Context) { _, _ = w.mine.rw.TryLockFor(w.ctx, w.left()) }},
	"RWLocker.TryLock":               {nil, func(w *hindered, _ context.Context) { w.mine.rw.TryLock() }},
	"RWLocker.UnlockContext":         {func(w *hindered) { w.mine.rw.Lock() }, func(w *hindered, ctx context.Context) { _ = w.mine.rw.UnlockContext(ctx) }},
	"RWLocker.Acquire":               {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.rw.Acquire(ctx) }},
	"RWLocker.TryAcquire":            {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.rw.TryAcquire(ctx) }},
	"RWLocker.RLockContext":          {nil, func(w *hindered, ctx context.Context) { _ = w.mine.rw.RLockContext(ctx) }},
	"RWLocker.RLockContext behind":   {writtenByThem, func(w *hindered, ctx context.Context) { _ = w.mine.rw.RLockContext(ctx) }},
	"RWLocker.RLockContext, writing": {func(w *hindered) { w.mine.rw.Lock() }, func(w *hindered, ctx context.Context) { _ = w.mine.rw.RLockContext(ctx) }},
	"RWLocker.TryRLockFor":           {nil, func(w *hindered, _ context.Context) { _, _ = w.mine.rw.TryRLockFor(w.ctx, w.left()) }},
	"RWLocker.TryRLock":              {nil, func(w *hindered, _ context.Context) { w.mine.rw.TryRLock() }},
	"RWLocker.TryRLock, writing":     {func(w *hindered) { w.mine.rw.Lock() }, func(w *hindered, _ context.Context) { w.mine.rw.TryRLock() }},
	"RWLocker.RUnlockContext":        {func(w *hindered) { w.mine.rw.RLock() }, func(w *hindered, ctx context.Context) { _ = w.mine.rw.RUnlockContext(ctx) }},
	"RWLocker.RAcquire":              {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.rw.RAcquire(ctx) }},
	"RWLocker.TryRAcquire":           {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.rw.TryRAcquire(ctx) }},

	"Semaphore.Acquire": {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.sem.Acquire(ctx, 2) }},
	"Semaphore.Acquire behind": {
		permitsByThem,
		func(w *hindered, ctx context.Context) { _, _ = w.mine.sem.Acquire(ctx, 2) },
	},
	"Semaphore.Do":         {nil, func(w *hindered, ctx context.Context) { _ = w.mine.sem.Do(ctx, 2, nothing) }},
	"Semaphore.TryAcquire": {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.sem.TryAcquire(ctx, 2) }},

	"MultiLocker.LockContext":       {nil, func(w *hindered, ctx context.Context) { _ = w.mine.multi.LockContext(ctx) }},
	"MultiLocker.LockContext last":  {lastByThem, func(w *hindered, ctx context.Context) { _ = w.mine.multi.LockContext(ctx) }},
	"MultiLocker.Do":                {nil, func(w *hindered, ctx context.Context) { _ = w.mine.multi.Do(ctx, nothing) }},
	"MultiLocker.Acquire":           {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.multi.Acquire(ctx) }},
	"MultiLocker.Acquire last":      {lastByThem, func(w *hindered, ctx context.Context) { _, _ = w.mine.multi.Acquire(ctx) }},
	"MultiLocker.TryLockFor 0":      {nil, func(w *hindered, ctx context.Context) { _, _ = w.mine.multi.TryLockFor(ctx, 0) }},
	"MultiLocker.TryLockFor 0 last": {lastByThem, func(w *hindered, ctx context.Context) { _, _ = w.mine.multi.TryLockFor(ctx, 0) }},
	"MultiLocker.TryLockFor":        {nil, func(w *hindered, _ context.Context) { _, _ = w.mine.multi.TryLockFor(w.ctx, w.left()) }},
	"MultiLocker.TryLockFor last":   {lastByThem, func(w *hindered, _ context.Context) { _, _ = w.mine.multi.TryLockFor(w.ctx, w.left()) }},
	"MultiLocker.TryLock":           {nil, func(w *hindered, _ context.Context) { w.mine.multi.TryLock() }},
	"MultiLocker.TryLock last":      {lastByThem, func(w *hindered, _ context.Context) { w.mine.multi.TryLock() }},
	"MultiLocker.UnlockContext":     {func(w *hindered) { w.mine.multi.Lock() }, func(w *hindered, ctx context.Context) { _ = w.mine.multi.UnlockContext(ctx) }},

	"MultiHold.Release": {
		func(w *hindered) {
			h := must(w.mine.multi.Acquire(w.ctx))
			w.release = h.Release
		},
		func(w *hindered, ctx context.Context) { _ = w.release(ctx) },
	},

	"Session.Shutdown":      {nil, func(w *hindered, ctx context.Context) { _ = w.mine.Shutdown(ctx) }},
	"Session.Shutdown held": {func(w *hindered) { w.mine.lock.Lock() }, func(w *hindered, ctx context.Context) { _ = w.mine.Shutdown(ctx) }},
	"Session.Ping":          {nil, func(w *hindered, ctx context.Context) { _ = w.mine.Ping(ctx) }},
	"Inspect":               {lockedByThem, func(w *hindered, ctx context.Context) { _, _ = zklock.Inspect(ctx, w.mine.Session, statesPath) }},
	"Revoke": {lockedByThem, func(w *hindered, ctx context.Context) {
		_ = zklock.Revoke(ctx, w.mine.Session, w.server.Nodes()[len(w.server.Nodes())-1].Path)
	}},

	"membership.Join": {nil, func(w *hindered, ctx context.Context) { _, _ = membership.Join(ctx, w.mine.Session, "/servers", nil) }},
	"membership.Watch": {
		func(w *hindered) { must(membership.Join(w.ctx, w.theirs.Session, "/servers", nil)) },
		func(w *hindered, ctx context.Context) {
			for range membership.Watch(ctx, w.mine.Session, "/servers") {
			}
		},
	},
	"Member.Update": {joined, func(w *hindered, ctx context.Context) { _ = w.member.Update(ctx, []byte("more")) }},
	"Member.Leave":  {joined, func(w *hindered, ctx context.Context) { _ = w.member.Leave(ctx) }},
}

func doAndPanic(w *hindered, ctx context.Context) {
	defer func() { _ = recover() }()
	_ = w.mine.lock.Do(ctx, func(context.Context) error { panic("stop") })
}

func joined(w *hindered) {
	w.member = must(membership.Join(w.ctx, w.mine.Session, "/servers", nil))
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
		for method, c := range timelyCalls {
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
			w := &hindered{scene: &scene{t: t, server: zktest.NewServer(t), options: options, ctx: t.Context()}}
			last = w.play(c, strike, frames)
		})
		if last || t.Failed() {
			return
		}
	}
}

// play makes the call, and tells whether it sends fewer frames than the obstacle lets pass.
func (w *hindered) play(c timely, strike func(*hindered), frames int) (last bool) {
	w.place = w.server.Client("mine")
	w.wire = &wire{dial: w.place.Dial}
	w.mine, w.theirs = w.actorVia(w.wire.connect), w.actor("theirs")
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
		c.call(w, ctx)
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

// contextual are the types whose methods the table is to have.
var contextual = []any{
	(*zklock.Locker)(nil), (*zklock.RWLocker)(nil), (*zklock.Semaphore)(nil), (*zklock.MultiLocker)(nil),
	(*zklock.Hold)(nil), (*zklock.MultiHold)(nil), (*zklock.Session)(nil), (*membership.Member)(nil),
}

func TestEveryMethodWithAContextIsInTheTable(t *testing.T) {
	for _, value := range contextual {
		typ := reflect.TypeOf(value)
		for i := range typ.NumMethod() {
			method := typ.Method(i)
			name := typ.Elem().Name() + "." + method.Name
			takes := strings.HasPrefix(method.Name, "Try")
			for in := range method.Type.NumIn() {
				takes = takes || method.Type.In(in) == reflect.TypeFor[context.Context]()
			}
			if !takes {
				continue
			}
			found := false
			for row := range timelyCalls {
				found = found || row == name || strings.HasPrefix(row, name+" ") || strings.HasPrefix(row, name+",")
			}
			require.True(t, found, name)
		}
	}
}
