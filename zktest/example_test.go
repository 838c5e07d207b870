package zktest_test

import (
	"fmt"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/zktest"
)

// In a test, NewServer closes the server by itself; a program calls Start and Close.
func Example() {
	srv, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	path, err := conn.Create("/jobs", []byte("none yet"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	fmt.Println(path, err)
	data, stat, err := conn.Get("/jobs")
	fmt.Printf("%s, version %d, %v\n", data, stat.Version, err)
	// Output:
	// /jobs <nil>
	// none yet, version 0, <nil>
}

// A session is expired on the spot, without waiting for its timeout.
func ExampleServer_ExpireSession() {
	srv, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	connect := func() *zk.Conn {
		conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second, zk.WithLogInfo(false))
		if err != nil {
			log.Fatal(err)
		}
		return conn
	}
	worker, watcher := connect(), connect()
	defer worker.Close()
	defer watcher.Close()

	if _, err := worker.Create("/alive", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		log.Fatal(err)
	}
	_, _, gone, err := watcher.GetW("/alive")
	if err != nil {
		log.Fatal(err)
	}
	srv.ExpireSession(worker.SessionID())
	fmt.Println((<-gone).Type)
	// Output: EventNodeDeleted
}

// The reply to a create is lost: the client gets an error, and the node is there.
func ExampleServer_DropReply() {
	srv, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second, zk.WithLogger(log.New(nowhere{}, "", 0)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	srv.DropReply(zktest.OpCreate, zktest.OnPath("/unlucky"))
	_, err = conn.Create("/unlucky", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	fmt.Println("error:", err != nil)
	fmt.Println("children of the root:", srv.Children("/"))
	// Output:
	// error: true
	// children of the root: [unlucky zookeeper]
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// An observer knows the truth, whatever clients believe.
func ExampleServer_Observe() {
	srv, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	srv.Observe(func(txn zktest.Txn) {
		for _, c := range txn.Changes {
			if c.Path != "" {
				fmt.Println(c.Kind, c.Path, "by", c.Cause)
			}
		}
	})

	conn, _, err := zk.Connect([]string{srv.Addr()}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for _, path := range []string{"/lock-", "/lock-"} {
		if _, err := conn.Create(path, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)); err != nil {
			log.Fatal(err)
		}
	}
	if err := conn.Delete("/lock-0000000000", -1); err != nil {
		log.Fatal(err)
	}
	srv.ExpireSession(conn.SessionID())
	// Output:
	// created /lock-0000000000 by client
	// created /lock-0000000001 by client
	// deleted /lock-0000000000 by client
	// deleted /lock-0000000001 by expiry
}
