package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A Locker takes the place of a sync.Mutex.
func Example() {
	server, err := zktest.Start() // stands for your ZooKeeper
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	session, err := zklock.Connect(context.Background(), []string{server.Addr()}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	mu, err := zklock.New(session, "/locks/counter")
	if err != nil {
		log.Fatal(err)
	}

	counter := 0
	var work sync.WaitGroup
	for range 10 {
		work.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			counter++
		})
	}
	work.Wait()
	fmt.Println(counter)
	// Output: 10
}

// A call that must not wait for ever takes a context.
func ExampleLocker_LockContext() {
	mu, _, stop := exampleLock("/locks/report")
	defer stop()
	report := func(who string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		switch err := mu.LockContext(ctx); {
		case errors.Is(err, zklock.ErrLocked):
			fmt.Println(who, "gives up: somebody else is at it")
			return
		case err != nil:
			log.Fatal(err)
		}
		defer mu.Unlock()
		fmt.Println(who, "writes the report")
	}

	var others sync.WaitGroup
	mu.Lock()
	others.Go(func() { report("Ada") })
	others.Wait()
	mu.Unlock()
	others.Go(func() { report("Grace") })
	others.Wait()
	// Output:
	// Ada gives up: somebody else is at it
	// Grace writes the report
}

// A long task selects on Lost, and stops when it is no longer the only one.
func ExampleLocker_Lost() {
	mu, expire, stop := exampleLock("/locks/worker")
	defer stop()
	jobs := make(chan string)
	go func() {
		jobs <- "the first job"
		jobs <- "the second job"
		expire() // as after a long time without a connection
	}()

	mu.Lock()
	defer mu.Unlock() // quiet after a loss
	lost := mu.Lost()
	for {
		select {
		case job := <-jobs:
			fmt.Println("doing", job)
		case <-lost:
			fmt.Println("stopping: the lock is lost")
			return
		}
	}
	// Output:
	// doing the first job
	// doing the second job
	// stopping: the lock is lost
}

// Do gives its function a context that ends when the lock is lost.
func ExampleLocker_Do() {
	mu, expire, stop := exampleLock("/locks/migration")
	defer stop()

	err := mu.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("migrating, the lock is ours:", zklock.HoldFrom(ctx).Valid())
		expire()
		<-ctx.Done()
		return errors.New("half done")
	})
	fmt.Println("lost:", errors.Is(err, zklock.ErrLost))
	fmt.Println(err)
	// Output:
	// migrating, the lock is ours: true
	// lost: true
	// zklock: do /locks/migration: lock was lost; it ended with: half done
}

// exampleLock makes a lock and a server for it, and returns how to expire the lock's session
// and how to end all that.
func exampleLock(path string) (mu *zklock.Locker, expire, stop func()) {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	session, err := zklock.Connect(context.Background(), []string{server.Addr()}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	if mu, err = zklock.New(session, path); err != nil {
		log.Fatal(err)
	}
	expire = func() { server.ExpireSession(session.ID()) }
	stop = func() {
		session.Close()
		server.Close()
	}
	return mu, expire, stop
}
