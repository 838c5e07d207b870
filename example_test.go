package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
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

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // for Connect alone
	defer cancel()
	session, err := zklock.Connect(ctx, []string{server.Addr()}, 10*time.Second, zklock.WithLogger(slog.Default()))
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

// A long task waits for Lost, and looks at Valid before each step: when a job and Lost are both
// ready, select picks one at random.
func ExampleHold_Lost() {
	mu, expire, stop := exampleLock("/locks/worker")
	defer stop()
	hold, err := mu.Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(context.Background()) // ErrLost after a loss

	jobs := make(chan string, 20)
	for n := range cap(jobs) {
		jobs <- fmt.Sprint("job ", n+1)
	}
	do := func(job string) {
		fmt.Println("doing", job)
		if job == "job 2" {
			expire() // as after a long time without a connection
			<-hold.Lost()
		}
	}
	work := func() error {
		for {
			select {
			case <-hold.Lost():
				return hold.Err() // which says why
			case job := <-jobs:
				if !hold.Valid() {
					return hold.Err()
				}
				do(job)
			}
		}
	}
	fmt.Println("lost:", errors.Is(work(), zklock.ErrLost))
	// Output:
	// doing job 1
	// doing job 2
	// lost: true
}

// Do gives its function a context that ends when the lock is lost.
func ExampleLocker_Do() {
	mu, expire, stop := exampleLock("/locks/migration")
	defer stop()

	halfDone := errors.New("half done")
	err := mu.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("migrating, the lock is ours:", zklock.HoldFrom(ctx).Valid())
		expire()
		<-ctx.Done()
		return halfDone
	})
	fmt.Println("lost:", errors.Is(err, zklock.ErrLost))
	fmt.Println("the function's own error:", errors.Is(err, halfDone))
	// Output:
	// migrating, the lock is ours: true
	// lost: true
	// the function's own error: true
}

// exampleLock makes a lock and a server for it, and returns how to expire the lock's session
// and how to end all that.
func exampleLock(path string) (mu *zklock.Locker, expire, stop func()) {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	session := exampleConnect(server.Addr())
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

// exampleConnect gives up after half a minute. The log says after two seconds what it waits for.
func exampleConnect(server string) *zklock.Session {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	session, err := zklock.Connect(ctx, []string{server}, 10*time.Second, zklock.WithLogger(slog.Default()))
	if err != nil {
		log.Fatal(err)
	}
	return session
}
