// Command genman writes the manual pages of zklock and its commands into a
// directory.
package main

import (
	"fmt"
	"os"

	"github.com/zklock/zklock/cmd/zklock/internal/cli"
	"github.com/zklock/zklock/cmd/zklock/internal/manual"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genman DIRECTORY")
		os.Exit(64)
	}
	if err := manual.Write(os.Args[1], cli.New()); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}
