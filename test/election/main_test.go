// Package election_test has candidates that are killed, and servers that break, under observers.
package election_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/test/nemesis"
)

const (
	path           = "/app/leader"
	sessionTimeout = 4 * time.Second

	// patience is how long a test waits for what has to happen; only a failing one waits that long.
	patience = time.Minute
)

// asCandidate is the environment variable that makes the test binary a candidate of that name.
const asCandidate = "ELECTION_CANDIDATE"

func TestMain(m *testing.M) {
	if name := os.Getenv(asCandidate); name != "" {
		if err := candidate(name, strings.Split(os.Args[1], ",")); err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// pulse is how often a leader looks whether it leads.
const pulse = 10 * time.Millisecond

// candidate leads whenever it can. It says "leads TOKEN INSTANT" when a term begins, and "still", and
// "ends", likewise; each instant is one at which its term was valid.
func candidate(name string, servers []string) error {
	ctx := context.Background()
	session, err := zklock.Connect(ctx, servers, sessionTimeout)
	if err != nil {
		return err
	}
	defer session.Close()
	e, err := election.New(session, path, election.WithValue([]byte(name)))
	if err != nil {
		return err
	}
	fmt.Println("campaigns 0 0")
	return e.Run(ctx, func(ctx context.Context, term *election.Term) error {
		say := func(what string) bool {
			now := nemesis.Now()
			if !term.Valid() {
				return false
			}
			fmt.Println(what, term.Token(), int64(now))
			return true
		}
		for leads := say("leads"); leads; leads = say("still") {
			time.Sleep(pulse)
		}
		return nil
	})
}

// reign is a term, by its leader's own clock.
type reign struct {
	name        string
	first, last nemesis.Instant
}

// referee hears what candidates say.
type referee struct {
	mu     sync.Mutex
	reigns map[int64]*reign
	newest int64
}

// process is a candidate's.
type process struct {
	name      string
	cmd       *exec.Cmd
	campaigns chan struct{}
}

// start starts a candidate, until the test ends.
func (r *referee) start(t *testing.T, name string, servers ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &process{name, exec.Command(self, strings.Join(servers, ",")), make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asCandidate+"="+name)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if words[0] == "campaigns" {
				close(p.campaigns)
				continue
			}
			token, _ := strconv.ParseInt(words[1], 10, 64)
			at, _ := strconv.ParseInt(words[2], 10, 64)
			r.hear(name, token, nemesis.Instant(at))
		}
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		<-heard
	})
	<-p.campaigns
	return p
}

func (p *process) kill() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }

func (r *referee) hear(name string, token int64, at nemesis.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reigns[token] == nil {
		r.reigns[token] = &reign{name: name, first: at}
	}
	r.reigns[token].last = at
	r.newest = max(r.newest, token)
}

// leader returns the newest leader.
func (r *referee) leader() (name string, token int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == 0 {
		return "", 0
	}
	return r.reigns[r.newest].name, r.newest
}

// observer is what an Observe has yielded: the tokens, 0 for nobody.
type observer struct {
	mu     sync.Mutex
	all    []election.Leadership
	newest election.Leadership
}

func observe(t *testing.T, servers ...string) *observer {
	t.Helper()
	s, err := zklock.Connect(t.Context(), servers, sessionTimeout)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	o, over := new(observer), make(chan struct{})
	go func() {
		defer close(over)
		for leader := range election.Observe(ctx, s, path) {
			o.mu.Lock()
			o.all, o.newest = append(o.all, leader), leader
			o.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		s.Close()
	})
	return o
}

func (o *observer) sees() (name string, token int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.newest.Value), o.newest.Token
}

// await waits until somebody leads who has not before, and all the observers see that one.
func (r *referee) await(t *testing.T, after int64, observers ...*observer) (name string, token int64) {
	t.Helper()
	for limit := time.Now().Add(patience); ; time.Sleep(pulse) {
		name, token = r.leader()
		agree := token > after
		for _, o := range observers {
			seen, by := o.sees()
			agree = agree && seen == name && by == token
		}
		if agree {
			return name, token
		}
		require.True(t, time.Now().Before(limit), "waited in vain for who leads after %#x; it is %s %#x", after, name, token)
	}
}
