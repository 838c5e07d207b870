package election_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/zktest"
)

// Two processes campaign. One leads, and the other one when the first has resigned.
func ExampleElection_Run() {
	one, other, stop := exampleSessions()
	defer stop()
	ctx := context.Background()

	candidate := func(s *zklock.Session, name string, work func(ctx context.Context, term *election.Term) error) error {
		e, err := election.New(s, "/app/leader", election.WithPause(time.Minute))
		if err != nil {
			return err
		}
		return e.Run(ctx, func(ctx context.Context, term *election.Term) error {
			fmt.Println(name, "leads")
			return work(ctx, term)
		})
	}
	leads := make(chan struct{})
	go candidate(one, "alpha", func(ctx context.Context, term *election.Term) error {
		close(leads)
		if err := term.Resign(ctx); err != nil {
			return err
		}
		<-ctx.Done()
		fmt.Println("alpha ends:", context.Cause(ctx))
		return nil // now the next one can lead
	})
	<-leads
	err := candidate(other, "beta", func(context.Context, *election.Term) error { return nil })
	fmt.Println("beta's work is done:", err == nil)
	// Output:
	// alpha leads
	// alpha ends: zklock: lock was released
	// beta leads
	// beta's work is done: true
}

// A client follows who leads.
func ExampleObserve() {
	candidates, client, stop := exampleSessions()
	defer stop()
	ctx := context.Background()

	e, err := election.New(candidates, "/app/leader", election.WithValue([]byte("10.0.0.7:8080")))
	if err != nil {
		log.Fatal(err)
	}
	var term *election.Term
	for leader, err := range election.Observe(ctx, client, "/app/leader") {
		switch {
		case errors.Is(err, election.ErrNoLeader) && term == nil:
			fmt.Println("nobody leads yet")
			if term, err = e.Campaign(ctx); err != nil {
				log.Fatal(err)
			}
		case errors.Is(err, election.ErrNoLeader):
			fmt.Println("nobody leads any more")
			return
		case err != nil:
			log.Fatal(err)
		case string(leader.Value) == "10.0.0.7:8080":
			fmt.Printf("%s leads\n", leader.Value)
			if err := term.Proclaim(ctx, []byte("10.0.0.7:9090")); err != nil {
				log.Fatal(err)
			}
		default:
			fmt.Printf("it is at %s now\n", leader.Value)
			if err := term.Resign(ctx); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// nobody leads yet
	// 10.0.0.7:8080 leads
	// it is at 10.0.0.7:9090 now
	// nobody leads any more
}

// A process asks once who leads.
func ExampleLeader() {
	session, _, stop := exampleSessions()
	defer stop()
	ctx := context.Background()

	_, err := election.Leader(ctx, session, "/app/leader")
	fmt.Println("nobody leads:", errors.Is(err, election.ErrNoLeader))
	e, err := election.New(session, "/app/leader", election.WithValue([]byte("10.0.0.7:8080")))
	if err != nil {
		log.Fatal(err)
	}
	term, err := e.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer term.Resign(ctx)
	leader, err := election.Leader(ctx, session, "/app/leader")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s leads, with the token of its term: %v\n", leader.Value, leader.Token == term.Token())
	// Output:
	// nobody leads: true
	// 10.0.0.7:8080 leads, with the token of its term: true
}

// exampleSessions connects two processes to a ZooKeeper in memory, and returns how to end all that.
func exampleSessions() (one, other *zklock.Session, stop func()) {
	zookeeper, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	connect := func() *zklock.Session {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // for Connect alone
		defer cancel()
		s, err := zklock.Connect(ctx, []string{zookeeper.Addr()}, 10*time.Second, zklock.WithLogger(slog.Default()))
		if err != nil {
			log.Fatal(err)
		}
		return s
	}
	one, other = connect(), connect()
	return one, other, func() {
		one.Close()
		other.Close()
		zookeeper.Close()
	}
}
