package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// nightly is a program of yours: the work of one night, in one process of many.
func nightly(ctx context.Context, s *zklock.Session, work func(context.Context) error) error {
	lock, err := zklock.New(s, "/locks/nightly")
	if err != nil {
		return err
	}
	return lock.Do(ctx, work)
}

// A program that uses zklock is tested without Java, and without a network: here,
// that it stops working when its session ends. The same goes inside a testing/synctest
// bubble, where waiting takes no time.
func Example_program() {
	srv, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	ctx := context.Background()
	session, err := zklock.Connect(ctx, []string{srv.PipeAddr()}, 10*time.Second, zklock.WithDialer(srv.Dial))
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	err = nightly(ctx, session, func(ctx context.Context) error {
		fmt.Println("nodes while it works:", len(srv.Children("/locks/nightly")))
		srv.ExpireSession(session.ID())
		<-ctx.Done()
		return ctx.Err()
	})
	fmt.Println("told of the loss:", errors.Is(err, zklock.ErrLost))
	fmt.Println("nodes afterwards:", len(srv.Children("/locks/nightly")))
	// Output:
	// nodes while it works: 1
	// told of the loss: true
	// nodes afterwards: 0
}
