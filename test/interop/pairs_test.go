package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

// outcome is what becomes of a second comer, in the words of the page.
type outcome string

const (
	waits outcome = "waits"
	in    outcome = "**in**"
	fails outcome = "fails, and its node stays"

	// waitsOrStuck is of one of ours behind two of theirs: the second of them and it wait for each other.
	waitsOrStuck outcome = "waits; **stuck** if another of theirs is in line"
)

// Our locks, as the page has them.
const (
	locker   = "`Locker`"
	rwLocker = "`RWLocker`"
)

// meeting is one of their locks and one of ours on a path of its own.
type meeting struct {
	t       *testing.T
	server  *apachezk.Server
	session *zklock.Session
	path    string
	theirs  func() peer
	ours    interface {
		Acquire(context.Context) (*zklock.Hold, error)
		TryAcquire(context.Context) (*zklock.Hold, error)
	}
}

// The rows of "Who keeps whom out" in docs/comparison.md whose libraries have no fleet.
func TestLocksOfOtherLibrariesWaitOrWalkInAsThePageSays(t *testing.T) {
	server := apachezk.Run(t, func(c *apachezk.Config) { c.ContainerCheck = time.Hour }).Server(0)
	text, err := os.ReadFile("../../docs/comparison.md")
	require.NoError(t, err)
	meetings := 0
	for _, row := range []struct {
		theirs   string
		library  func(t *testing.T, server string) library
		our      string
		weHold   outcome
		theyHold outcome
	}{
		{"`zk.Lock` 1.0.4", zkLock, "any", waits, waits},
		{"`zk.Lock` of samuel/go-zookeeper", samuel, locker, waits, waits},
		{"`zk.Lock` of samuel/go-zookeeper", samuel, rwLocker, fails, waits},
		{"ZooKeeper's `WriteLock`", writeLock, locker, waits, waits},
		{"ZooKeeper's `WriteLock`", writeLock, rwLocker, in, waits},
		{"ZooKeeper's `zoo_lock.c`", cRecipe, "any", waits, waits},
		{"made by hand, nodes `lock-N`, in the order of their numbers", byHand("lock-", byNumber), "any", waits, waits},
		{"made by hand, nodes `N`, in the order of their numbers", byHand("", byNumber), "any", waits, waits},
		{"made by hand, nodes `lock-N`, in the order of their names", byHand("lock-", byName), "any", waits, waitsOrStuck},
		{"Vitess zk2topo", byHand("", byName), "any", in, waits},
		{"tooz 3.1", plainKazoo, "any", in, waits},
	} {
		t.Run(row.theirs+" "+row.our, func(t *testing.T) {
			require.Regexp(t, `(?m)^\| `+regexp.QuoteMeta(row.theirs)+`[^|]* `+
				regexp.QuoteMeta(fmt.Sprintf("| %s | %s | %s |", row.our, row.weHold, row.theyHold))+"$", string(text), "docs/comparison.md has this row")
			theirs := row.library(t, server.Addr())
			for _, our := range []string{locker, rwLocker} {
				if row.our != "any" && row.our != our {
					continue
				}
				next := func() *meeting {
					meetings++
					return meet(t, server, fmt.Sprint("/meeting", meetings), theirs, our)
				}
				require.Equal(t, row.weHold, next().weHold(), "%s holds, they come", our)
				met := next().theyHold()
				switch {
				case row.theyHold == waitsOrStuck:
					require.Equal(t, waits, met, "they hold, %s comes", our)
					next().requireStuck()
				case row.weHold == waits:
					next().requireInOrder()
					fallthrough
				default:
					require.Equal(t, row.theyHold, met, "they hold, %s comes", our)
				}
			}
		})
	}
}

func meet(t *testing.T, server *apachezk.Server, path string, theirs library, our string) *meeting {
	t.Helper()
	m := &meeting{t: t, server: server, session: connect(t, server.Addr()), path: path}
	m.theirs = func() peer { return theirs(path) }
	var err error
	if our == locker {
		m.ours, err = zklock.New(m.session, path)
	} else {
		m.ours, err = zklock.NewRW(m.session, path)
	}
	require.NoError(t, err)
	return m
}

func (m *meeting) weHold() outcome {
	m.t.Helper()
	hold := m.acquire()
	came := m.theirs()
	locked := begin(came.Lock)
	var ended bool
	var err error
	m.eventually("the second comer's end or wait", func() bool {
		select {
		case err = <-locked:
			ended = true
		default:
		}
		return ended || m.watched(m.queue()[0]) > 1 // we watch our own node, and they may
	})
	switch {
	case !ended:
		require.NoError(m.t, hold.Release(m.t.Context()))
		require.NoError(m.t, receive(m.t, locked))
	case err != nil:
		require.Len(m.t, m.queue(), 2, "what has failed has left its node")
		return fails
	}
	require.NoError(m.t, came.Unlock())
	if ended {
		require.NoError(m.t, hold.Release(m.t.Context()))
		return in
	}
	return waits
}

func (m *meeting) theyHold() outcome {
	m.t.Helper()
	held := m.theirs()
	require.NoError(m.t, receive(m.t, begin(held.Lock)))
	hold, err := m.ours.TryAcquire(m.t.Context())
	if err == nil {
		require.NoError(m.t, hold.Release(m.t.Context()))
		return in
	}
	require.ErrorIs(m.t, err, zklock.ErrLocked)
	waiting := begin(m.cycle)
	m.awaitQueue(2)
	require.NoError(m.t, held.Unlock())
	require.NoError(m.t, receive(m.t, waiting))
	return waits
}

// requireInOrder has two of theirs wait before one of ours, and a third behind it.
func (m *meeting) requireInOrder() {
	m.t.Helper()
	first, second, last := m.theirs(), m.theirs(), m.theirs()
	require.NoError(m.t, receive(m.t, begin(first.Lock)))
	got, hold := begin(second.Lock), make(chan *zklock.Hold, 1)
	m.awaitQueue(2)
	our := begin(func() error {
		h, err := m.ours.Acquire(m.t.Context())
		hold <- h
		return err
	})
	m.awaitQueue(3)
	end := begin(last.Lock)
	m.awaitQueue(4)
	require.NoError(m.t, first.Unlock())
	require.NoError(m.t, receive(m.t, got), "the second of theirs")
	requireNone(m.t, our, end)
	require.NoError(m.t, second.Unlock())
	require.NoError(m.t, receive(m.t, our), "ours")
	requireNone(m.t, end)
	require.NoError(m.t, (<-hold).Release(m.t.Context()))
	require.NoError(m.t, receive(m.t, end), "the last of theirs")
	require.NoError(m.t, last.Unlock())
}

// requireStuck has one of theirs and one of ours wait for each other.
func (m *meeting) requireStuck() {
	m.t.Helper()
	first, second := m.theirs(), m.theirs()
	require.NoError(m.t, receive(m.t, begin(first.Lock)))
	got := begin(second.Lock)
	theirNode := m.awaitQueue(2)[1]
	ctx, cancel := context.WithCancel(m.t.Context())
	our := begin(func() error {
		_, err := m.ours.Acquire(ctx)
		return err
	})
	ourNode := m.awaitQueue(3)[2]
	require.NoError(m.t, first.Unlock())
	m.eventually("each to wait for the other", func() bool {
		return len(m.queue()) == 2 && m.watched(ourNode) > 1 && m.watched(theirNode) > 0
	})
	requireNone(m.t, got, our)
	cancel()
	require.ErrorIs(m.t, receive(m.t, our), context.Canceled)
	require.NoError(m.t, receive(m.t, got))
	require.NoError(m.t, second.Unlock())
}

func (m *meeting) acquire() *zklock.Hold {
	m.t.Helper()
	hold, err := m.ours.Acquire(m.t.Context())
	require.NoError(m.t, err)
	return hold
}

// cycle takes our lock and gives it back.
func (m *meeting) cycle() error {
	hold, err := m.ours.Acquire(m.t.Context())
	if err != nil {
		return err
	}
	return hold.Release(m.t.Context())
}

// queue returns the names of the nodes, in the order in which they were made.
func (m *meeting) queue() []string {
	m.t.Helper()
	children, _, err := m.session.Conn().Children(m.path)
	require.NoError(m.t, err)
	return sorted(children, byNumber)
}

func (m *meeting) awaitQueue(n int) (queue []string) {
	m.t.Helper()
	m.eventually(fmt.Sprint("a queue of ", n), func() bool {
		queue = m.queue()
		return len(queue) == n
	})
	return queue
}

// watched returns how many sessions watch the node.
func (m *meeting) watched(name string) (n int) {
	m.t.Helper()
	answer, err := m.server.FourLetter("wchp")
	require.NoError(m.t, err)
	_, rest, _ := strings.Cut(answer, m.path+"/"+name+"\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "\t") {
			break
		}
		n++
	}
	return n
}

func (m *meeting) eventually(what string, done func() bool) {
	m.t.Helper()
	for began := time.Now(); !done(); time.Sleep(time.Millisecond) {
		require.Less(m.t, time.Since(began), patience, "%s; the queue is %v", what, m.queue())
	}
}

func begin(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

func receive(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errors.New("it does not end")
	}
}

func requireNone(t *testing.T, calls ...<-chan error) {
	t.Helper()
	for _, call := range calls {
		require.Empty(t, call, "a call has ended before its turn")
	}
}
