package membership_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// A client follows the list while servers come and go.
func ExampleWatch() {
	servers, client, _, stop := exampleSessions()
	defer stop()
	ctx := context.Background()

	var alpha *membership.Member
	for peers, err := range membership.Watch(ctx, client, "/servers") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d:", len(peers))
		for _, p := range peers {
			fmt.Printf(" %s", p.Data)
		}
		fmt.Println()

		switch len(peers) {
		case 0: // at first
			if alpha, err = membership.Join(ctx, servers, "/servers", []byte("alpha:8080")); err != nil {
				log.Fatal(err)
			}
			if _, err = membership.Join(ctx, servers, "/servers", []byte("beta:8080")); err != nil {
				log.Fatal(err)
			}
		case 2:
			if err := alpha.Leave(ctx); err != nil {
				log.Fatal(err)
			}
		case 1:
			return
		}
	}
	// Output:
	// 0:
	// 2: alpha:8080 beta:8080
	// 1: beta:8080
}

// A member whose session was lost registers itself again, and says so.
func ExampleJoin() {
	session, _, expire, stop := exampleSessions()
	defer stop()

	states := make(chan membership.State, 10)
	member, err := membership.Join(context.Background(), session, "/servers", []byte("alpha:8080"),
		membership.WithNotify(func(s membership.State) { states <- s }))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("registered:", (<-states).Registered)
	expire(session)
	fmt.Println("registered:", (<-states).Registered)
	fmt.Println("registered:", (<-states).Registered)
	fmt.Println("registrations:", member.State().Registrations)
	// Output:
	// registered: true
	// registered: false
	// registered: true
	// registrations: 2
}

// A member says something new about itself.
func ExampleMember_Update() {
	session, client, _, stop := exampleSessions()
	defer stop()
	ctx := context.Background()

	member, err := membership.Join(ctx, session, "/servers", []byte("alpha:8080 starting"))
	if err != nil {
		log.Fatal(err)
	}
	for peers, err := range membership.Watch(ctx, client, "/servers") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", peers[0].Data)
		if string(peers[0].Data) == "alpha:8080 ready" {
			return
		}
		if err := member.Update(ctx, []byte("alpha:8080 ready")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// alpha:8080 starting
	// alpha:8080 ready
}

// exampleSessions connects two processes to a ZooKeeper in memory, and returns how
// to expire a session and how to end all that.
func exampleSessions() (one, other *zklock.Session, expire func(*zklock.Session), stop func()) {
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
	expire = func(s *zklock.Session) { zookeeper.ExpireSession(s.ID()) }
	stop = func() {
		one.Close()
		other.Close()
		zookeeper.Close()
	}
	return one, other, expire, stop
}
