// Command genman writes the manual pages of zklock and its commands into a
// directory. It is apart from them so that what it needs is no part of zklock itself.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/zklock/zklock/cmd/zklock/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genman DIRECTORY")
		os.Exit(64)
	}
	if err := write(os.Args[1], cli.New()); err != nil {
		fmt.Fprintln(os.Stderr, "genman:", err)
		os.Exit(1)
	}
}

// write writes a page for root and for each command below it that is not hidden
// into dir, which it creates, and deletes the pages that were there.
func write(dir string, root *cobra.Command) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true                                   // it has the day
	date := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC) // the same text makes the same page, whenever
	header := &doc.GenManHeader{
		Section: "1",
		Source:  "zklock",
		Manual:  "zklock",
		Date:    &date,
	}
	return doc.GenManTree(root, header, dir)
}
