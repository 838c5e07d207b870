package interop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// peer is a lock of another library's. Each has a session of its own.
type peer interface {
	Lock() error
	Unlock() error
}

// library makes the locks of those who come to the lock on path.
type library func(path string) peer

// Where in a list of children those of hand-made locks see a node.
func byNumber(name string) string { return name[max(0, len(name)-10):] }
func byName(name string) string   { return name }

func sorted(children []string, order func(string) string) []string {
	return slices.SortedFunc(slices.Values(children), func(a, b string) int { return strings.Compare(order(a), order(b)) })
}

// handMade is the lock of ZooKeeper's page of recipes, as it is written by hand: an ephemeral node
// with a number, which waits for the one before it in the order that it knows.
type handMade struct {
	conn         *zk.Conn
	path, prefix string
	order        func(name string) string
	node         string
}

func (l *handMade) Lock() (err error) {
	if _, err := l.conn.Create(l.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	if l.node, err = l.conn.Create(l.path+"/"+l.prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	for {
		children, _, err := l.conn.Children(l.path)
		if err != nil {
			return err
		}
		children = sorted(children, l.order)
		at := slices.Index(children, filepath.Base(l.node))
		if at <= 0 {
			return nil
		}
		there, _, changed, err := l.conn.ExistsW(l.path + "/" + children[at-1])
		if err != nil {
			return err
		}
		if there {
			<-changed
		}
	}
}

func (l *handMade) Unlock() error { return l.conn.Delete(l.node, -1) }

// byHand makes locks whose nodes have the prefix.
func byHand(prefix string, order func(string) string) func(*testing.T, string) library {
	return func(t *testing.T, server string) library {
		return func(path string) peer {
			return &handMade{conn: connect(t, server).Conn(), path: path, prefix: prefix, order: order}
		}
	}
}

// cRecipe makes locks as ZooKeeper's zoo_lock.c does, by the form of its nodes.
func cRecipe(t *testing.T, server string) library {
	return func(path string) peer {
		s := connect(t, server)
		return &handMade{conn: s.Conn(), path: path, prefix: fmt.Sprintf("x-%016x-", s.ID()), order: byNumber}
	}
}

// valkeyrie is zk.Lock, and what the store of that name does beside: it writes to the lock's path.
type valkeyrie struct {
	lock *zk.Lock
	conn *zk.Conn
	path string
}

func (l valkeyrie) Unlock() error { return l.lock.Unlock() }

func (l valkeyrie) Lock() error {
	err := l.lock.Lock()
	if err == nil {
		_, err = l.conn.Set(l.path, []byte("mine"), -1)
	}
	return err
}

func zkLock(t *testing.T, server string) library {
	return func(path string) peer {
		conn := connect(t, server).Conn()
		return valkeyrie{zk.NewLock(conn, path, zk.WorldACL(zk.PermAll)), conn, path}
	}
}

func connect(t *testing.T, server string) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), []string{server}, sessionTimeout)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// process is a program that has peers. It is told "lock NAME PATH" and "unlock NAME", and says
// the name when that is done, with an error behind it if there is one.
type process struct {
	orders io.Writer

	mu      sync.Mutex
	answers map[string]chan string
}

// program starts a process, for as long as the test runs.
func program(t *testing.T, args ...string) library {
	t.Helper()
	p := &process{answers: make(map[string]chan string)}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	orders, err := cmd.StdinPipe()
	require.NoError(t, err)
	p.orders = orders
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			name, text, _ := strings.Cut(lines.Text(), " ")
			p.of(name) <- text
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		<-heard
		_ = cmd.Wait()
	})
	return func(path string) peer {
		p.mu.Lock()
		defer p.mu.Unlock()
		name := fmt.Sprint(len(p.answers))
		p.answers[name] = make(chan string, 1)
		return &remote{p, name, path}
	}
}

func (p *process) of(name string) chan string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[name]
}

// remote is a peer of a process.
type remote struct {
	of         *process
	name, path string
}

func (r *remote) Lock() error   { return r.do("lock", r.name, r.path) }
func (r *remote) Unlock() error { return r.do("unlock", r.name) }

func (r *remote) do(order ...string) error {
	if _, err := fmt.Fprintln(r.of.orders, strings.Join(order, " ")); err != nil {
		return err
	}
	if text := <-r.of.of(r.name); text != "" {
		return errors.New(text)
	}
	return nil
}

// writeLock is ZooKeeper's own recipe in Java.
func writeLock(t *testing.T, server string) library {
	java := javaProgram(t, "libzookeeper-java", "WriteLocks", "zookeeper-recipes-lock", "zookeeper", "slf4j-nop")
	return program(t, append(java, server)...)
}

// plainKazoo is kazoo's Lock as it is, which is also tooz' on ZooKeeper.
func plainKazoo(t *testing.T, server string) library {
	return program(t, append(python(t, "plainlocks.py"), server)...)
}

// samuel is github.com/samuel/go-zookeeper, which zk.Lock comes from. Its version is in a go.mod of
// its own.
func samuel(t *testing.T, server string) library {
	t.Helper()
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = filepath.Join("testdata", "samuel"), append(os.Environ(), "GOWORK=off")
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("needs the module github.com/samuel/go-zookeeper: %v %s", err, out)
	}
	binary := filepath.Join(scratch, "samuel")
	out, err := run("build", "-o", binary, ".")
	require.NoError(t, err, string(out))
	return program(t, binary, server)
}
