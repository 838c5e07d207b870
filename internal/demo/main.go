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
	"github.com/zklock/zklock/zktest"
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
	servers := flag.String("servers", "", "`host:port,...` of a ZooKeeper to use, instead of one in memory")
	apache := flag.Bool("apache", false, "start an Apache ZooKeeper, instead of one in memory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx, newScreen(os.Stdout), *servers, *apache)
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

func demo(ctx context.Context, s *screen, servers string, apache bool) error {
	dir, err := os.MkdirTemp("", "zklock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	s.say("%d processes increment the counter in one file: read it, work a little, write it, %d times each.",
		processes, sections)
	zk, err := find(ctx, servers, apache)
	if err != nil {
		return err
	}
	defer zk.stop()

	s.say("\nWithout a lock:")
	unlocked, err := run(ctx, s, filepath.Join(dir, "unlocked"), jobs(job{Sections: sections}))
	if err != nil {
		return err
	}
	unlocked.summary()

	path := "/zklock-demo/" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s.say("\nWith the lock %s, kept by %s at %s:", path, zk.kind, strings.Join(zk.addrs, ", "))
	crew := jobs(job{Sections: sections, Servers: zk.addrs, Lock: path, Timeout: sessionTimeout})
	crew[victim].StayIn = fatalSection
	locked, err := run(ctx, s, filepath.Join(dir, "locked"), crew)
	if err != nil {
		return err
	}
	locked.table()
	locked.summary()
	return verdict(s, unlocked, locked)
}

// zooKeeper is the one that keeps the lock.
type zooKeeper struct {
	kind  string
	addrs []string
	stop  func()
}

func find(ctx context.Context, servers string, apache bool) (zooKeeper, error) {
	addrs := strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ' ' })
	if len(addrs) > 0 {
		return zooKeeper{"ZooKeeper", addrs, func() {}}, nil
	}
	if apache {
		zk, err := apachezk.Start(ctx, apachezk.Config{})
		if err != nil {
			return zooKeeper{}, err
		}
		return zooKeeper{"Apache ZooKeeper", zk.Addrs(), zk.Stop}, nil
	}
	zk, err := zktest.Start()
	if err != nil {
		return zooKeeper{}, err
	}
	return zooKeeper{"a ZooKeeper in memory", []string{zk.Addr()}, func() { zk.Close() }}, nil
}

// jobs gives the same job to all processes.
func jobs(j job) []job { return slices.Repeat([]job{j}, processes) }
