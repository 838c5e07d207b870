package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// A statesTable says what each call comes to in each state that it may meet: it has a row for
// each call and a column for each state. Each cell is played in a world of its own, in virtual
// time. It says
//
//	ok, true, nil, 2, ...  what the call returns
//	locked, lost, ...      which errors its error is, with a + between two
//	!lost                  that it panics with such an error
//	waits                  that it has not returned after a while
type statesTable struct {
	options []zklock.Option
	states  map[string]state
	calls   map[string]call
	text    string
}

// state is what a call meets.
type state struct {
	before    func(*scene) // done by the goroutine that calls
	meanwhile func(*scene) // done by another one if the call waits; nil: nothing
}

// then is st with more done by the goroutine that calls.
func (st state) then(more func(*scene)) state {
	before := func(sc *scene) {
		st.before(sc)
		time.Sleep(stateLimit) // for news of what has happened
		more(sc)
	}
	return state{before, st.meanwhile}
}

// until is st with something happening while the call waits.
func (st state) until(meanwhile func(*scene)) state { return state{st.before, meanwhile} }

// call makes a call and tells what it returns.
type call func(*scene) string

// scene is the world of one cell.
type scene struct {
	t       *testing.T
	server  *zktest.Server
	options []zklock.Option
	ctx     context.Context // of the call
	mine    *actor          // the process of the caller
	theirs  *actor          // another process
	err     error           // of the call, or what it panicked with
	atEnd   []func()
}

// actor is a process with everything that may lock the scene's path.
type actor struct {
	*zklock.Session
	lock  *zklock.Locker
	rw    *zklock.RWLocker
	sem   *zklock.Semaphore // of two permits
	parts []*zklock.Locker  // of multi, in its order
	multi *zklock.MultiLocker
	hold  *zklock.Hold // a handle, if the state has one
}

const (
	statesPath = "/lock"
	statesTime = 20 * time.Second // the sessions' timeout
	stateLimit = statesTime / 40  // for a call that has one
	stateWhile = 2 * stateLimit   // in which a call returns, if it does
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (sc *scene) actor(place string) *actor { return sc.actorVia(sc.server.Client(place).Dial) }

func (sc *scene) actorVia(dial zk.Dialer) *actor {
	s := must(zklock.Connect(sc.ctx, []string{sc.server.PipeAddr()}, statesTime, zklock.WithDialer(dial)))
	sc.atEnd = append(sc.atEnd, func() { s.Close() })
	a := &actor{
		Session: s,
		lock:    must(zklock.New(s, statesPath, sc.options...)),
		sem:     must(zklock.NewSemaphore(s, statesPath, 2)),
	}
	var err error
	if a.rw, err = zklock.NewRW(s, statesPath, sc.options...); err != nil { // they are for a Locker alone
		a.rw = must(zklock.NewRW(s, statesPath))
	}
	for _, suffix := range []string{"", "b", "c"} {
		a.parts = append(a.parts, must(zklock.New(s, statesPath+suffix, sc.options...)))
	}
	a.multi = must(zklock.NewMulti(a.parts...))
	return a
}

// play brings the state about, makes the call, and returns what that came to.
func (sc *scene) play(st state, f call) string {
	sc.mine, sc.theirs = sc.actor("mine"), sc.actor("theirs")
	defer func() {
		for _, f := range sc.atEnd {
			f()
		}
	}()
	before, ready, outcome := 0, make(chan struct{}), make(chan string, 1)
	sc.stays(func() {
		st.before(sc)
		time.Sleep(stateLimit)
		before = sc.places()
		close(ready)
		outcome <- sc.make(f)
	})
	<-ready
	came := sc.await(outcome)
	if came == "waits" && st.meanwhile != nil {
		st.meanwhile(sc)
		came = sc.await(outcome)
	}
	synctest.Wait()
	if sc.err != nil || came == "false" {
		require.LessOrEqual(sc.t, sc.places(), before, "it left something behind")
	}
	if came == "waits" {
		sc.mine.Close()
		if sc.await(outcome) == "waits" {
			came = "waits, even when the session is closed"
		}
	}
	return came
}

// places returns how many nodes of contenders the server has.
func (sc *scene) places() (n int) {
	for _, node := range sc.server.Nodes() {
		if node.Stat.EphemeralOwner != 0 {
			n++
		}
	}
	return n
}

// stays runs f in a goroutine that ends with the scene.
func (sc *scene) stays(f func()) {
	end := make(chan struct{})
	sc.atEnd = append(sc.atEnd, func() { close(end) })
	go func() {
		f()
		<-end
	}()
}

func (sc *scene) await(outcome <-chan string) string {
	select {
	case came := <-outcome:
		return came
	case <-time.After(stateWhile):
		return "waits"
	}
}

func (sc *scene) make(f call) (outcome string) {
	defer func() {
		if v := recover(); v != nil {
			err, ok := v.(error)
			if !ok {
				err = fmt.Errorf("%v", v)
			}
			outcome = "!" + sc.says(err)
		}
	}()
	return f(sc)
}

// says tells what a call's error is, and keeps it.
func (sc *scene) says(err error) string {
	sc.err = err
	return sentinels(err)
}

// given is says for a call that tells whether it got the lock.
func (sc *scene) given(ok bool, err error) string {
	if err == nil {
		return fmt.Sprint(ok)
	}
	require.False(sc.t, ok)
	return sc.says(err)
}

// granted is says for a call that returns a hold.
func (sc *scene) granted(h *zklock.Hold, err error) string {
	require.Equal(sc.t, err == nil, h != nil && h.Valid())
	return sc.says(err)
}

var errUser = errors.New("the user went away")

// sentinels names what err is, or returns its text.
func sentinels(err error) string {
	if err == nil {
		return "ok"
	}
	var is []string
	for _, s := range []struct {
		name string
		err  error
	}{
		{"locked", zklock.ErrLocked},
		{"lost", zklock.ErrLost},
		{"not held", zklock.ErrNotHeld},
		{"released", zklock.ErrReleased},
		{"upgrade", zklock.ErrUpgrade},
		{"closed", zklock.ErrClosed},
		{"canceled", context.Canceled},
		{"deadline", context.DeadlineExceeded},
		{"cause", errUser},
	} {
		if errors.Is(err, s.err) {
			is = append(is, s.name)
		}
	}
	if len(is) == 0 {
		return err.Error()
	}
	return strings.Join(is, "+")
}

// heldAs tells in what state a hold is.
func heldAs(h *zklock.Hold) string {
	if h == nil {
		return "nil"
	}
	if err := h.Err(); err != nil {
		return sentinels(err)
	}
	return "held"
}

func openOr(c <-chan struct{}) string {
	if isClosed(c) {
		return "closed"
	}
	return "open"
}

// run plays all cells.
func (table statesTable) run(t *testing.T) {
	t.Helper()
	rows := cells(table.text)
	columns := rows[0][1:]
	for _, row := range rows[1:] {
		for i, want := range row[1:] {
			st, f := table.states[columns[i]], table.calls[row[0]]
			require.NotNil(t, st.before, columns[i])
			require.NotNil(t, f, row[0])
			t.Run(row[0]+" when "+columns[i], func(t *testing.T) {
				virtual.Test(t, func(t *testing.T) {
					sc := &scene{t: t, server: zktest.NewServer(t), options: table.options, ctx: t.Context()}
					require.Equal(t, want, sc.play(st, f), "%v", sc.err)
					sc.requireClearError()
				})
			})
		}
	}
}

// requireClearError checks that the call's error, if there is one, says what failed and where.
func (sc *scene) requireClearError() {
	if sc.err == nil {
		return
	}
	var e *zklock.Error
	require.ErrorAs(sc.t, sc.err, &e)
	where := statesPath
	if e.Op == "ping" {
		where = "session 0x"
	}
	require.Contains(sc.t, e.Path, where)
	require.NotEmpty(sc.t, e.Op)
	require.ErrorContains(sc.t, sc.err, fmt.Sprintf("zklock: %s %s: ", e.Op, e.Path))
}

// cells splits a table's text.
func cells(text string) (rows [][]string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		var row []string
		for cell := range strings.SplitSeq(line, "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	return rows
}
