package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stage is the program that runs the documented code: each snippet is a function there, named
// by its page and its number on it, or stands there as it is if it declares things.
const stage = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zktest"
)

var servers []string

func main() {
	log.SetFlags(0)
	server, err := zktest.Start()
	check("start", err)
	defer server.Close()
	servers = []string{server.Addr()}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	session, err := zklock.Connect(ctx, servers, 10*time.Second)
	check("connect", err)
	defer session.Close()
	lost := make(chan struct{})
	mu, err := zklock.New(session, "/locks/readme", zklock.WithTrace(&zklock.Trace{Lost: func(zklock.TraceInfo) { close(lost) }}))
	check("new", err)
	for _, path := range []string{"/ledger", "/ledger/total"} {
		_, err := session.Conn().Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		check(path, err)
	}

	README1()
	check("README2", README2(ctx, mu))
	check("README4", README4(ctx, session, func(context.Context) error { return nil }))
	term, err := elected(ctx, session)
	check("campaign", err)
	seen := errors.New("the leader is seen")
	observing, enough := context.WithCancelCause(ctx)
	err = election2(observing, session, func(address string) {
		if address == "10.0.0.7:8080" {
			check("resign", term.Resign(ctx))
		} else {
			enough(seen)
		}
	})
	if context.Cause(observing) != seen {
		log.Fatalf("election2 ended with %v", err)
	}
	check("election1", election1(ctx, session, func(context.Context) error { return nil }))

	booked := ""
	check("keyed1", keyed1(ctx, session, func(_ context.Context, order string) error { booked = order; return nil }))
	orders, err := zklock.NewKeyed(session, "/app/orders")
	check("orders", err)
	check("keyed2", keyed2(ctx, session, orders, func(ctx context.Context) error {
		if _, err := orders.TryAcquire(ctx, booked); !errors.Is(err, zklock.ErrLocked) {
			log.Fatalf("keyed2 does not hold %q: %v", booked, err)
		}
		return nil
	}))

	ledger, err := Open(session) // migration1
	check("migration1", err)
	ledger.Post("an entry")
	check("migration2", migration2(ctx, servers))
	total(session, "")
	check("migration3", migration3(ctx, session, []byte("from migration")))
	total(session, "from migration")
	worked := false
	check("migration4", migration4(ctx, session, func(context.Context) error { worked = true; return nil }))
	if !worked {
		log.Fatal("migration4 has not done its job")
	}

	check("lost1", lost1(ctx, mu, func(context.Context) error { return nil }))
	check("lost2", lost2(ctx, session, mu, []byte("from lost")))
	total(session, "from lost")

	testing.Init()
	every := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(every, []testing.InternalTest{
		{Name: "testing1", F: TestASecondProcessIsTurnedAway},
		{Name: "testing2", F: TestTheWorkStopsWhenTheLockIsLost},
		{Name: "testing3", F: TestAHoldEndsInAnOutage},
	}) {
		log.Fatal("a test of testing.md fails")
	}

	vault, err := zktest.Start()
	check("start", err)
	defer vault.Close()
	guarded, err := operations1(ctx, []string{vault.Addr()}, "secret")
	check("operations1", err)
	check("operations1", guarded.LockContext(ctx))
	guarded.Unlock()
	outside, err := zklock.Connect(ctx, []string{vault.Addr()}, 10*time.Second)
	check("connect", err)
	defer outside.Close()
	stranger, err := zklock.New(outside, "/locks/ledger")
	check("stranger", err)
	if err := stranger.LockContext(ctx); !errors.Is(err, zk.ErrNoAuth) {
		log.Fatalf("operations1 lets a stranger in: %v", err)
	}
	neighbour, err := zklock.New(outside, "/locks/of another team")
	check("neighbour", err)
	check("operations1 keeps other teams out of /locks", neighbour.LockContext(ctx))
	neighbour.Unlock()

	secret := filepath.Join(os.TempDir(), fmt.Sprint("zklock-secret-", os.Getpid()))
	check("secret", os.WriteFile(secret, []byte("ledger:secret"), 0o600))
	renewed, err := operations2(ctx, []string{vault.Addr()}, secret)
	os.Remove(secret)
	check("operations2", err)
	defer renewed.Close()
	ours, err := zklock.New(renewed, "/locks/ledger")
	check("ours", err)
	check("operations2 logs in", ours.LockContext(ctx))
	ours.Unlock()

	check("operations3", operations3(ctx, session))

	// The last, since it loses its session.
	entries := make(chan string, 20)
	for range cap(entries) {
		entries <- "an entry"
	}
	posted := 0
	err = README3(ctx, mu, entries, func(string) {
		posted++
		server.ExpireSession(session.ID())
		<-lost // while the other entries wait
	})
	if !errors.Is(err, zklock.ErrLost) || posted != 1 {
		log.Fatalf("README3 ended with %v after %d entries", err, posted)
	}
}

func elected(ctx context.Context, session *zklock.Session) (*election.Term, error) {
	e, err := election.New(session, "/app/leader", election.WithValue([]byte("10.0.0.7:8080")))
	if err != nil {
		return nil, err
	}
	return e.Campaign(ctx)
}

func check(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}

func total(session *zklock.Session, want string) {
	if got, _, err := session.Conn().Get("/ledger/total"); string(got) != want || err != nil {
		log.Fatalf("the total is %q, %v, and not %q", got, err, want)
	}
}
`

// onStage returns the snippet's Go file of the stage, with a function of that name unless it
// declares things. The main function of a whole program has that name too.
func (s snippet) onStage(t *testing.T, name string) string {
	t.Helper()
	s.code = strings.Replace(s.code, `[]string{"localhost:2181"}`, "servers", 1)
	s.code = strings.Replace(s.code, "func main() {", "func "+name+"() {", 1)
	source, err := s.source()
	require.NoError(t, err)
	source = strings.Replace(source, "package snippet", "package main", 1)
	if s.signature != "func()" {
		source = strings.Replace(source, "func _(", "func "+name+"(", 1)
	}
	if strings.HasSuffix(s.signature, ") error") {
		source = strings.Replace(source, "panic(0)", "return nil", 1)
	}
	return source
}

func TestDocumentedCodeDoesWhatItsPagesSay(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	temporary := t.TempDir()
	replace := make(map[string]string)
	add := func(name, source string) {
		file := filepath.Join(temporary, name+".go")
		require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
		replace[filepath.Join(root, "internal", "stage", name+".go")] = file
	}
	add("main", stage)
	for _, file := range withSnippets(t) {
		for i, s := range snippetsOf(file, page(t, file)) {
			name := fmt.Sprintf("%s%d", strings.TrimSuffix(filepath.Base(file), ".md"), i+1)
			require.Contains(t, stage, name, "%s:%d is not run", file, s.line)
			add(name, s.onStage(t, name))
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(temporary, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	program := filepath.Join(temporary, "stage")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay="+file, "-o", program, "./internal/stage")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), program).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
