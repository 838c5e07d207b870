// Command genman writes the manual pages of zklock and its commands into a
// directory. It is apart from them so that what it needs is no part of zklock itself.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	root.DisableAutoGenTag = true // it has the day
	return writeTree(dir, root)
}

func writeTree(dir string, cmd *cobra.Command) error {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() && !below.IsAdditionalHelpTopicCommand() {
			if err := writeTree(dir, below); err != nil {
				return err
			}
		}
	}
	text, err := page(cmd)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), text, 0o644)
}

// page returns the manual page of a command.
func page(cmd *cobra.Command) ([]byte, error) {
	date := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC) // the same text makes the same page, whenever
	header := &doc.GenManHeader{
		Title:   strings.ToUpper(strings.ReplaceAll(cmd.CommandPath(), " ", "\\-")),
		Section: "1",
		Source:  "zklock",
		Manual:  "zklock",
		Date:    &date,
	}
	var sections []cli.Section
	cmd.Long, sections = cli.Manual(cmd)
	var text bytes.Buffer
	if err := doc.GenMan(cmd, header, &text); err != nil {
		return nil, err
	}
	body, seeAlso, found := bytes.Cut(text.Bytes(), []byte(".SH SEE ALSO"))
	if !found {
		return nil, fmt.Errorf("the page of %s has no SEE ALSO", cmd.CommandPath())
	}
	var more bytes.Buffer
	for _, s := range sections {
		fmt.Fprintf(&more, ".SH %s\n", s.Title)
		for _, e := range s.Entries {
			fmt.Fprintf(&more, ".TP\n\\fB%s\\fP\n%s\n", roff(e.Term), roff(e.Text))
		}
		more.WriteString(".PP\n")
	}
	return slices.Concat(body, more.Bytes(), []byte(".SH SEE ALSO"), seeAlso), nil
}

// roff escapes what roff would take for its own.
var roff = strings.NewReplacer("\\", "\\\\", "-", "\\-", "'", "\\(aq").Replace
