// Command demo shows what a lock across processes is for. Eight processes
// increment one counter in a shared file, first without a lock, then with one.
// One of the processes that use the lock is killed while it holds it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zklock/zklock/internal/apachezk"
)

const (
	workerCommand  = "worker"
	processes      = 8
	sections       = 60
	victim         = 3  // the process to be killed, counted from 0
	fatalSection   = 20 // in which it is killed
	sessionTimeout = 3 * time.Second
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == workerCommand {
		exit(work(os.Args[2], os.Stdin, os.Stdout))
	}
	servers := flag.String("servers", "", "`host:port,...` of a ZooKeeper to use, instead of one started for the demo")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx, newScreen(os.Stdout), *servers)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func demo(ctx context.Context, s *screen, servers string) error {
	dir, err := os.MkdirTemp("", "zklock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	s.say("%d processes increment the counter in one file: read it, work a little, write it, %d times each.",
		processes, sections)
	addrs := strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ' ' })
	if len(addrs) == 0 {
		zk, err := apachezk.Start(ctx, apachezk.Config{})
		if err != nil {
			return err
		}
		defer zk.Stop()
		addrs = zk.Addrs()
	}

	s.say("\nWithout a lock:")
	unlocked, err := run(ctx, s, filepath.Join(dir, "unlocked"), jobs(job{Sections: sections}))
	if err != nil {
		return err
	}
	unlocked.summary()

	path := "/zklock-demo/" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s.say("\nWith the lock %s, kept by ZooKeeper at %s:", path, strings.Join(addrs, ", "))
	crew := jobs(job{Sections: sections, Servers: addrs, Lock: path, Timeout: sessionTimeout})
	crew[victim].StayIn = fatalSection
	locked, err := run(ctx, s, filepath.Join(dir, "locked"), crew)
	if err != nil {
		return err
	}
	locked.table()
	locked.summary()
	return verdict(s, unlocked, locked)
}

// jobs gives the same job to all processes.
func jobs(j job) []job { return slices.Repeat([]job{j}, processes) }
