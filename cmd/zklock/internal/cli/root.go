// Package cli is the zklock command.
package cli

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	ignoreBrokenPipes()
	stderr := newAsyncWriter(os.Stderr)
	defer stderr.close()
	root := New()
	stdout := &output{File: os.Stdout}
	root.SetOut(stdout) // before cobra's completion takes it
	knowShells(root)
	root.SetArgs(args)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(context.Background())
	if failed := stdout.failed.Load(); failed != nil && !errors.As(err, new(coder)) { // cobra does not tell, or takes it for a wrong command line
		err = withCode(exitFailure, *failed)
	}
	var quiet *silent
	if err != nil && !errors.As(err, &quiet) {
		report(stderr, cmd, err)
	}
	return codeOf(err)
}

// output is a file that remembers why it could not be written.
type output struct {
	*os.File
	failed atomic.Pointer[error]
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil {
		o.failed.Store(&err)
	}
	return n, err
}

// terminal returns the file behind what is read or written, if that is a terminal.
func terminal(stream any) *os.File {
	f, isFile := stream.(*os.File)
	if o, isOutput := stream.(*output); isOutput {
		f, isFile = o.File, true
	}
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// New returns the command and all that is below it.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "zklock",
		Short: "Run commands under a lock that holds across machines",
		Long: `zklock runs a command while it holds a lock that a ZooKeeper ensemble keeps, so that of
all machines that use the same path only one runs its command at a time; or while it leads
in an election. It shows who holds a lock and who waits for it, asks for one back, and
breaks one that is stuck.

The servers are given by --servers or $ZKLOCK_SERVERS.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command of zklock before the -- (%q behind it): write zklock run [flags] PATH -- COMMAND [ARG...]", args)
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return inOurWords(err) })
	root.Flags().Bool("version", false, "write the version")
	root.PersistentFlags().CountP(verboseFlag, "v", "tell what happens; twice: in detail")
	root.AddCommand(newRun(), newElect(), newList(), newStatus(), newLeader(), newRevoke(), newBreak(), newUI(), newDemo(), newDemoWorker(), newServer())
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		_, _, err := root.Find(args)
		return err
	}
	return root
}

// knowShells refuses to complete for a shell that cobra does not know: by itself it shows the
// help, and all is well. It has no manual page, so that New leaves it to cobra.
func knowShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Args = cobra.NoArgs
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() } // or Args is not asked
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
