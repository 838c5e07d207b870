package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// exampleSession connects to a server of its own, and returns how to expire the session and how
// to end all that.
func exampleSession() (session *zklock.Session, expire, stop func()) {
	server, err := zktest.Start() // stands for your ZooKeeper
	if err != nil {
		log.Fatal(err)
	}
	session = exampleConnect(server.Addr())
	expire = func() { server.ExpireSession(session.ID()) }
	stop = func() {
		session.Close()
		server.Close()
	}
	return session, expire, stop
}

// Readers share the lock; a writer that has written may go on reading, and lets no other writer
// in between.
func ExampleRWLocker() {
	session, _, stop := exampleSession()
	defer stop()
	lock, err := zklock.NewRW(session, "/locks/prices")
	if err != nil {
		log.Fatal(err)
	}

	lock.Lock()
	price := 42
	lock.RLock()  // beside the write lock ...
	lock.Unlock() // ... which is given back: others may read now
	fmt.Println("the price is", price)

	var others sync.WaitGroup
	others.Go(func() {
		lock.RLock()
		defer lock.RUnlock()
		fmt.Println("another reads:", price)
	})
	others.Wait()
	others.Go(func() { fmt.Println("another may write:", lock.TryLock()) })
	others.Wait()
	lock.RUnlock()
	// Output:
	// the price is 42
	// another reads: 42
	// another may write: false
}

// At most three jobs at a time, over all processes; a big one counts twice.
func ExampleSemaphore() {
	session, _, stop := exampleSession()
	defer stop()
	slots, err := zklock.NewSemaphore(session, "/slots", 3)
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	big, err := slots.Acquire(ctx, 2)
	if err != nil {
		log.Fatal(err)
	}
	small, err := slots.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer small.Release(ctx)
	_, err = slots.TryAcquire(ctx, 1)
	fmt.Println("all slots are taken:", errors.Is(err, zklock.ErrLocked))
	if err := big.Release(ctx); err != nil {
		log.Fatal(err)
	}
	another, err := slots.TryAcquire(ctx, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer another.Release(ctx)
	fmt.Println("another big job runs")
	// Output:
	// all slots are taken: true
	// another big job runs
}

// Two accounts are locked as one. The order in which they are named does not matter: transfers
// in opposite directions never wait for each other for ever.
func ExampleMultiLocker() {
	session, _, stop := exampleSession()
	defer stop()
	balance := map[string]int{"ann": 100, "bob": 100}
	transfer := func(from, to string, amount int) {
		var locks []*zklock.Locker
		for _, account := range []string{from, to} {
			l, err := zklock.New(session, "/accounts/"+account)
			if err != nil {
				log.Fatal(err)
			}
			locks = append(locks, l)
		}
		both, err := zklock.NewMulti(locks...)
		if err != nil {
			log.Fatal(err)
		}
		both.Lock()
		defer both.Unlock()
		balance[from] -= amount
		balance[to] += amount
	}

	var transfers sync.WaitGroup
	for range 5 {
		transfers.Go(func() { transfer("ann", "bob", 20) })
		transfers.Go(func() { transfer("bob", "ann", 10) })
	}
	transfers.Wait()
	fmt.Println("ann has", balance["ann"], "and bob has", balance["bob"])
	// Output: ann has 50 and bob has 150
}

// Writes that go in one transaction with the hold's check happen while the lock is held, or not
// at all: a holder that was paused and is too late is refused.
func ExampleHold_Check() {
	session, expire, stop := exampleSession()
	defer stop()
	lock, err := zklock.New(session, "/locks/ledger")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	conn := session.Conn()
	if _, err := conn.Create("/balance", []byte("100"), zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err != nil {
		log.Fatal(err)
	}
	write := func(hold *zklock.Hold, balance string) error {
		_, err := conn.Multi(hold.Check(), &zk.SetDataRequest{Path: "/balance", Data: []byte(balance), Version: -1})
		return err
	}

	paused, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	check := paused.Check() // it has prepared its write ...
	expire()                // ... when it is paused for longer than its session lives
	next, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next holder writes:", write(next, "70"))
	_, err = conn.Multi(check, &zk.SetDataRequest{Path: "/balance", Data: []byte("120"), Version: -1})
	fmt.Println("the stale one is refused:", errors.Is(err, zk.ErrNoNode))
	balance, _, err := conn.Get("/balance")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("the balance is %s\n", balance)
	// Output:
	// the next holder writes: <nil>
	// the stale one is refused: true
	// the balance is 70
}

// store stands for a database outside of ZooKeeper, which refuses a write that comes with a
// smaller token than one before.
type store struct {
	mu     sync.Mutex
	newest int64
	value  string
}

func (s *store) write(token int64, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token < s.newest {
		return errors.New("a later holder has written already")
	}
	s.newest, s.value = token, value
	return nil
}

// A store that compares tokens is safe from a holder that does not know yet that it has lost
// the lock.
func ExampleHold_Token() {
	session, expire, stop := exampleSession()
	defer stop()
	lock, err := zklock.New(session, "/locks/report")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	var reports store

	paused, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	token := paused.Token()
	expire() // it is paused for longer than its session lives
	next, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next holder:", reports.write(next.Token(), "new"))
	fmt.Println("the stale one:", reports.write(token, "old"))
	fmt.Println("the report is", reports.value)
	// Output:
	// the next holder: <nil>
	// the stale one: a later holder has written already
	// the report is new
}

// A service is ready when locks can be taken.
func ExampleSession_Ping() {
	session, _, stop := exampleSession()
	defer stop()

	ready := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := session.Ping(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
	answer := httptest.NewRecorder()
	ready(answer, httptest.NewRequest("GET", "/ready", nil))
	fmt.Println(answer.Code)
	// Output: 200
}

// A session tells when its connections come and go.
func ExampleWithSessionTrace() {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	session, err := zklock.Connect(ctx, []string{server.Addr()}, 10*time.Second, zklock.WithLogger(slog.Default()),
		zklock.WithSessionTrace(&zklock.SessionTrace{
			Connected:    func(i zklock.SessionTraceInfo) { fmt.Println("connected, number", i.Connection) },
			Disconnected: func(i zklock.SessionTraceInfo) { fmt.Println("disconnected:", i.Err) },
		}))
	if err != nil {
		log.Fatal(err)
	}
	session.Close()
	// Output:
	// connected, number 1
	// disconnected: zklock: session is closed
}

// Who needs a lock that another holds may ask for it. The holder decides.
func ExampleRevoke() {
	session, _, stop := exampleSession()
	defer stop()
	lock, err := zklock.New(session, "/locks/rebuild")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	hold, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	var rebuild sync.WaitGroup
	rebuild.Go(func() {
		<-hold.Revoked() // a long task looks at it from time to time
		fmt.Println("rebuilding can wait")
		if err := hold.Release(ctx); err != nil {
			log.Fatal(err)
		}
	})

	contenders, err := zklock.Inspect(ctx, session, "/locks/rebuild")
	if err != nil {
		log.Fatal(err)
	}
	holder := contenders[0]
	fmt.Println("held:", holder.Held, "kind:", holder.Kind)
	if err := zklock.Revoke(ctx, session, holder.Node); err != nil {
		log.Fatal(err)
	}
	urgent, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	rebuild.Wait()
	fmt.Println("the urgent task has it")
	if err := urgent.Release(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// held: true kind: exclusive
	// rebuilding can wait
	// the urgent task has it
}

// Do of a MultiLocker holds all the locks while its function runs. A call inside that asks for
// one of them again, under the function's context, is told that it would wait for itself.
func ExampleMultiLocker_Do() {
	session, _, stop := exampleSession()
	defer stop()
	from, err := zklock.New(session, "/accounts/ann")
	if err != nil {
		log.Fatal(err)
	}
	to, err := zklock.New(session, "/accounts/bob")
	if err != nil {
		log.Fatal(err)
	}

	both, err := zklock.NewMulti(from, to)
	if err != nil {
		log.Fatal(err)
	}

	err = both.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("moving the money")
		return from.LockContext(ctx)
	})
	fmt.Println("would wait for itself:", errors.Is(err, zklock.ErrDeadlock))
	// Output:
	// moving the money
	// would wait for itself: true
}

// A service that ends waits for those who hold a lock, for as long as it has. Who has not begun is
// told that there are no more locks.
func ExampleSession_Shutdown() {
	session, _, stop := exampleSession()
	defer stop()
	mu, err := zklock.New(session, "/locks/ledger")
	if err != nil {
		log.Fatal(err)
	}
	begun := make(chan struct{})
	var jobs sync.WaitGroup
	jobs.Go(func() {
		err := mu.Do(context.Background(), func(context.Context) error {
			close(begun)
			return nil // after whatever there is to do
		})
		fmt.Println("the job under way ends with", err)
	})

	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := session.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	jobs.Wait()
	fmt.Println("a later job:", errors.Is(mu.LockContext(context.Background()), zklock.ErrClosed))
	// Output:
	// the job under way ends with <nil>
	// a later job: true
}

// Orders are booked side by side, but each by one process at a time. A key may be any string.
func ExampleNewKeyed() {
	session, _, stop := exampleSession()
	defer stop()
	orders, err := zklock.NewKeyed(session, "/app/orders")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	err = orders.Do(ctx, "eu/17", func(ctx context.Context) error {
		_, err := orders.TryAcquire(ctx, "eu/17")
		fmt.Println("another process could have eu/17 now:", !errors.Is(err, zklock.ErrLocked))
		return orders.Do(ctx, "eu/18", func(ctx context.Context) error {
			inUse, err := zklock.List(ctx, session, "/app/orders")
			for _, lock := range inUse {
				fmt.Println(lock.Key, "at", lock.Path, "is held:", lock.Contenders[0].Held)
			}
			return err
		})
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// another process could have eu/17 now: false
	// eu/17 at /app/orders/eu%2F17 is held: true
	// eu/18 at /app/orders/eu%2F18 is held: true
}

// Of all locks below a path each change is told, by one watch at the servers.
func ExampleWatch() {
	session, _, stop := exampleSession()
	defer stop()
	mu, err := zklock.New(session, "/app/ledger")
	if err != nil {
		log.Fatal(err)
	}
	mu.Lock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for changed, err := range zklock.Watch(ctx, session, "/app") {
		if err != nil {
			fmt.Println("it ends with its context:", errors.Is(err, context.Canceled))
			return
		}
		for _, lock := range changed {
			fmt.Println(lock.Path, "is used by", len(lock.Contenders))
			if len(lock.Contenders) > 0 {
				mu.Unlock()
			} else {
				cancel()
			}
		}
	}
	// Output:
	// /app/ledger is used by 1
	// /app/ledger is used by 0
	// it ends with its context: true
}
