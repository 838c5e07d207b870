// Package demo shows what a lock across processes is for. Eight processes
// increment one counter in a shared file, first without a lock, then with one.
// One of the processes that use the lock is killed while it holds it.
package demo

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

const (
	processes      = 8
	sections       = 60
	victim         = 3  // the process to be killed, counted from 0
	fatalSection   = 20 // in which it is killed
	sessionTimeout = 3 * time.Second
	reachPatience  = 5 * time.Second
)

// Options say how to demonstrate.
type Options struct {
	// Worker is the command line that starts a worker process, which calls Work
	// with one more argument.
	Worker []string

	Servers []string // of a ZooKeeper to use, instead of one in memory
	Apache  bool     // start an Apache ZooKeeper, instead of one in memory

	Terminal bool // the progress is shown in place
}

// Run demonstrates the lock, and tells on out what happens. The error says that
// something failed, or that the lock did.
func Run(ctx context.Context, out io.Writer, o Options) error {
	s := &screen{out: out, terminal: o.Terminal}
	dir, err := os.MkdirTemp("", "zklock-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	s.say("%d processes increment the counter in one file: read it, work a little, write it, %d times each.",
		processes, sections)
	zk, err := find(ctx, o.Servers, o.Apache)
	if err != nil {
		return err
	}
	defer zk.stop()

	s.say("\nWithout a lock:")
	unlocked, err := run(ctx, s, o.Worker, filepath.Join(dir, "unlocked"), jobs(job{Sections: sections}))
	if err != nil {
		return err
	}
	unlocked.summary()

	path := "/zklock-demo/" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s.say("\nWith the lock %s, kept by %s at %s:", path, zk.kind, strings.Join(zk.addrs, ", "))
	crew := jobs(job{Sections: sections, Servers: zk.addrs, Lock: path, Timeout: sessionTimeout})
	crew[victim].StayIn = fatalSection
	locked, err := run(ctx, s, o.Worker, filepath.Join(dir, "locked"), crew)
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

func find(ctx context.Context, servers []string, apache bool) (zooKeeper, error) {
	if len(servers) > 0 {
		return zooKeeper{"ZooKeeper", servers, func() {}}, reach(ctx, servers)
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

// reach returns why the servers cannot be used, before anything is shown.
func reach(ctx context.Context, servers []string) error {
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	session, err := zklock.Connect(ctx, servers, sessionTimeout)
	if err != nil {
		return err
	}
	return session.Close()
}

// jobs gives the same job to all processes.
func jobs(j job) []job { return slices.Repeat([]job{j}, processes) }
