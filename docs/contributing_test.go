package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// crowded is a program with a queue of three, of which the last one is refused.
const crowded = `package main

import (
	"context"
	"log"
	"strings"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func main() {
	server, err := zktest.Start()
	check(err)
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	enqueued := make(chan struct{}, 100)
	locker := func() *zklock.Locker {
		s, err := zklock.Connect(ctx, []string{server.Addr()}, 10*time.Second)
		check(err)
		l, err := zklock.New(s, "/lock", zklock.WithTrace(&zklock.Trace{Enqueued: func(zklock.TraceInfo) { enqueued <- struct{}{} }}))
		check(err)
		return l
	}
	here, elsewhere := locker(), locker()
	first, err := here.Acquire(ctx)
	check(err)
	<-enqueued
	waited := make(chan error)
	go func() {
		second, err := here.Acquire(ctx)
		if err == nil {
			err = second.Release(ctx)
		}
		waited <- err
	}()
	<-enqueued
	for of, l := range map[string]*zklock.Locker{"its session": here, "another": elsewhere} {
		if _, err := l.Acquire(ctx); err == nil || !strings.Contains(err.Error(), "too many are ahead") {
			log.Fatalf("a third of %s: %v", of, err)
		}
	}
	check(first.Release(ctx))
	check(<-waited)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
`

func TestTheOptionInTheContributorsExampleRefusesWhoHasTooManyAhead(t *testing.T) {
	_, rest, found := strings.Cut(page(t, "../CONTRIBUTING.md"), "```go\n")
	require.True(t, found)
	rule, _, _ := strings.Cut(rest, "```\n")
	queue := page(t, "../internal/queue/queue.go")
	const asked = "q.stand(ctx, call, (*contender).wait)"
	require.Contains(t, queue, asked)

	root, err := filepath.Abs("..")
	require.NoError(t, err)
	temporary, replace := t.TempDir(), make(map[string]string)
	for name, source := range map[string]string{
		"internal/stage/main.go":    crowded,
		"internal/queue/queue.go":   strings.Replace(queue, asked, "q.stand(ctx, call, atMost(1, (*contender).wait))", 1),
		"internal/queue/crowded.go": "package queue\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"fmt\"\n\n\t\"github.com/zklock/zklock/internal/client\"\n)\n" + rule,
	} {
		file := filepath.Join(temporary, filepath.Base(name))
		require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
		replace[filepath.Join(root, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(temporary, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o644))
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay="+file, "./internal/stage")
	run.Dir = root
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
