// Package cli is the zklock command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	ignoreBrokenPipes()
	stderr := newOutlet(os.Stderr)
	defer stderr.close()
	root := New()
	root.SetArgs(args)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(context.Background())
	var quiet *silent
	if err != nil && !errors.As(err, &quiet) {
		report(stderr, cmd, err)
	}
	return codeOf(err)
}

// silent is how a command ends with an exit code and nothing to say.
type silent struct{ code int }

func (s *silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }
func (s *silent) ExitCode() int { return s.code }

// exitWith returns the error that ends with code and says nothing.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return &silent{code}
}

func report(to io.Writer, cmd *cobra.Command, err error) {
	text := strings.TrimPrefix(err.Error(), "zklock: ")
	if f := cmd.Flag(logFormatFlag); f != nil && f.Value.String() == "json" {
		newLogger(to, "json", 0).Error(text, "exit_code", codeOf(err))
		return
	}
	if fromLibrary(err) {
		text = abridged(text, longestError)
	}
	fmt.Fprintf(to, "zklock: %s\n", text)
	if codeOf(err) == exitUsage && !fromLibrary(err) {
		fmt.Fprintf(to, "Try '%s --help'.\n", cmd.CommandPath())
	}
}

// New returns the command and all that is below it.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "zklock",
		Short: "Run commands under a lock that holds across machines",
		Long: `zklock runs a command while it holds a lock that a ZooKeeper ensemble keeps, so that of
all machines that use the same path only one runs its command at a time. It shows who
holds a lock and who waits for it, asks for one back, and breaks one that is stuck.

The servers are given by --servers or $ZKLOCK_SERVERS.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRun(), newStatus(), newRevoke(), newBreak(), newDemo(), newDemoWorker(), newServer())
	return root
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// onePath takes a PATH as the only argument.
func onePath(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("there are %d arguments (%q): name one PATH, such as /locks/backup", len(args), args)
	}
	return checkPath(args[0])
}

// checkPath finds the mistakes that are seen without a server; the library has the
// whole rule.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return usage("PATH %q: it must start with /, as in /locks/backup", path)
	}
	return nil
}
