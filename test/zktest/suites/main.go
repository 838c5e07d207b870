// Command suites runs three servers of zktest for the test suite of a client in another language. It prints their addresses,
// and then does what it reads: "stop 1", "start 1" (servers count from 0), each answered by "ok". It ends with its input.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/zklock/zklock/zktest"
)

func main() {
	ensemble, err := zktest.StartEnsemble(3)
	if err != nil {
		log.Fatal(err)
	}
	defer ensemble.Close()
	fmt.Println(strings.Join(ensemble.Addrs(), " "))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var do string
		var server int
		if _, err := fmt.Sscan(lines.Text(), &do, &server); err != nil {
			log.Fatalf("%q is not a command: %v", lines.Text(), err)
		}
		switch s := ensemble.Server(server); do {
		case "stop":
			s.Stop()
		case "start":
			s.Restart()
		}
		fmt.Println("ok")
	}
}
