// Command zklock runs commands under a lock that ZooKeeper keeps, and shows who
// holds one. See docs/cli.md.
package main

import (
	"os"

	"github.com/zklock/zklock/cmd/zklock/internal/cli"
)

//go:generate go run ./internal/genman man

func main() { os.Exit(cli.Main(os.Args[1:])) }
