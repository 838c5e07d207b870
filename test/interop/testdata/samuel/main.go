// Command samuel locks with github.com/samuel/go-zookeeper: see peer_test.go for what it is
// told and what it says.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"

	"github.com/samuel/go-zookeeper/zk"
)

func main() {
	locks := make(map[string]*zk.Lock)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		var verb, name, path string
		_, _ = fmt.Sscan(orders.Text(), &verb, &name, &path) // unlock has no path
		if verb == "lock" {
			conn, _, err := zk.Connect([]string{os.Args[1]}, 20*time.Second, zk.WithLogInfo(false))
			if err != nil {
				panic(err)
			}
			locks[name] = zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
			go answer(name, locks[name].Lock)
		} else {
			go answer(name, locks[name].Unlock)
		}
	}
}

func answer(name string, do func() error) {
	if err := do(); err != nil {
		fmt.Println(name, err)
		return
	}
	fmt.Println(name)
}
