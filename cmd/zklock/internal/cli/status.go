package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
)

// status is one use of the status command.
type status struct {
	connection
	format *choice
	watch  bool

	path   string
	stdout io.Writer
	out    io.Writer // stdout, until a signal
	log    *slog.Logger
}

func newStatus() *cobra.Command {
	s := new(status)
	cmd := &cobra.Command{
		Use:   "status [flags] PATH",
		Short: "Show who holds a lock and who waits for it",
		Long: `Status shows who holds the lock on PATH and who waits for it, in the order of the queue,
holders first: host and process, since when its node exists, which for a holder includes
the wait, the fencing token, the ZooKeeper session, and the node.`,
		Example: `  zklock status /locks/backup
  zklock status --watch /locks/backup
  zklock status --format json /locks/backup`,
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.path, s.stdout, s.log = args[0], cmd.OutOrStdout(), s.logger(cmd)
			err := untilSignal(cmd.Context(), s.run)
			var interrupted *job.Interrupted
			if s.watch && errors.As(err, &interrupted) {
				return exitWith(interrupted.ExitCode()) // which is how it is meant to end
			}
			return err
		},
	}
	s.format = oneOf("table", "json")
	s.format.add(cmd, "format", "a table for people, or a line of JSON")
	cmd.Flags().BoolVar(&s.watch, "watch", false, "go on, and show each change; on a terminal, in place")
	s.connection.flags(cmd)
	return cmd
}

func (s *status) run(ctx context.Context) error {
	s.out = output{ctx, s.stdout}
	session, err := s.open(ctx, s.log)
	if err != nil {
		return err
	}
	defer session.Close()
	if s.watch {
		return s.follow(ctx, session)
	}
	v, err := look(ctx, session, s.path)
	if err != nil {
		return err
	}
	return s.write(v)
}

func (s *status) write(v view) error {
	err := v.writeTable
	if s.format.value == "json" {
		err = v.writeJSON
	}
	return withCodeIf(exitFailure, err(s.out))
}

// look inspects the lock. It gives up when a session that is lost would end.
func look(ctx context.Context, session *zklock.Session, path string) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, session.Timeout())
	defer cancel()
	found, err := zklock.Inspect(ctx, session, path)
	return view{path, time.Now(), found}, classify(err)
}
