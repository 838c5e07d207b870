// Command call makes one call of the library on a server in memory, and writes which of the
// library's blocks ran from its beginning to its end, in the background too, to a directory that
// go tool covdata reads: call free|contended|loss DIRECTORY. It is to be built with -cover and
// -covermode=atomic.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/coverage"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(call, directory string) error {
	server, err := zktest.Start()
	if err != nil {
		return err
	}
	first, err := newLocker(server)
	if err != nil {
		return err
	}
	second, err := newLocker(server)
	if err != nil {
		return err
	}
	if err := coverage.WriteMetaDir(directory); err != nil {
		return err
	}
	before, during := calls(call, server, first, second)
	if err := before(); err != nil {
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := during(); err != nil {
		return err
	}
	return coverage.WriteCountersDir(directory)
}

func newLocker(server *zktest.Server) (*zklock.Locker, error) {
	s, err := zklock.Connect(context.Background(), []string{server.Addr()}, 2*time.Second)
	if err != nil {
		return nil, err
	}
	return zklock.New(s, "/app/lock")
}

// calls returns what comes before the call that is measured, and the call.
func calls(call string, server *zktest.Server, first, second *zklock.Locker) (before, during func() error) {
	ctx := context.Background()
	again := func() error {
		for range 3 { // the first call on a path creates it
			if err := first.LockContext(ctx); err != nil {
				return err
			}
			if err := first.UnlockContext(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	hold := func() error { return first.LockContext(ctx) }
	switch call {
	case "free":
		return again, hold
	case "contended":
		return func() error { return errors.Join(again(), hold()) }, func() error {
			entered := make(chan error)
			go func() { entered <- second.LockContext(ctx) }()
			for len(server.Children("/app/lock")) < 2 {
				time.Sleep(time.Millisecond)
			}
			if err := first.UnlockContext(ctx); err != nil {
				return err
			}
			return <-entered
		}
	case "loss":
		return func() error { return errors.Join(again(), hold()) }, func() error {
			lost := first.Lost()
			server.Freeze()
			<-lost
			if err := first.UnlockContext(ctx); !errors.Is(err, zklock.ErrLost) {
				return err
			}
			return nil
		}
	}
	panic("no such call: " + call)
}
