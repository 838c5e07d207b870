package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zklock/zklock/cmd/zklock/internal/demo"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
)

// workerCommand is what the demonstration starts its processes with.
const workerCommand = "demo-worker"

func newDemo() *cobra.Command {
	var (
		servers string
		options demo.Options
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what the lock is for: eight processes and one counter",
		Long: `Demo lets eight processes increment one counter in a file, first without the lock and then
with it, and kills one of them while it holds the lock. It needs no servers: unless
--servers names some, it brings a ZooKeeper in memory.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return withCode(exitFailure, err)
			}
			options.Worker = []string{self, workerCommand}
			options.Terminal = term.IsTerminal(int(os.Stdout.Fd()))
			if servers != "" {
				options.Servers = strings.FieldsFunc(servers, func(r rune) bool { return r == ',' || r == ' ' })
				if err := checkServers("--servers", options.Servers); err != nil {
					return err
				}
			}
			return untilSignal(cmd.Context(), func(ctx context.Context) error {
				return demoError(demo.Run(ctx, ctxWriter{ctx, cmd.OutOrStdout()}, options))
			})
		},
	}
	cmd.Flags().Var((*nonEmpty)(&servers), "servers", "the ZooKeeper servers to use, as `host:port,...`, instead of one in memory")
	cmd.Flags().BoolVar(&options.Apache, "apache", false, "start an Apache ZooKeeper, which must be installed, instead of one in memory")
	return cmd
}

// newDemoWorker is one of the processes.
func newDemoWorker() *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand + " JOB",
		Short:  "One process of the demonstration",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return demoError(demo.Work(args[0], os.Stdin, os.Stdout))
		},
	}
}

func demoError(err error) error {
	var interrupted *job.Interrupted
	switch {
	case errors.As(err, &interrupted):
		return err
	case fromLibrary(err):
		return classify(err)
	}
	return withCode(exitFailure, err)
}
