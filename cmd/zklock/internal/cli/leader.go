package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
)

// leader is one use of the leader command.
type leader struct {
	connection
	path     string
	format   *choice
	watch    bool
	exitCode bool // is the answer
}

// What --exit-code answers.
const (
	answerLeads  = 0
	answerNobody = 1
)

func newLeader() *cobra.Command {
	l := new(leader)
	cmd := &cobra.Command{
		Use:   "leader [flags] PATH",
		Short: "Show who leads in an election",
		Long: `Leader shows who leads in the election on PATH: what the leader says of itself, its host
and process, since when it leads, the fencing token of its term, its ZooKeeper session and
its node. With --watch it goes on, and writes a line for each change; that nobody leads is
one too.

With --exit-code the exit code says what is so: 0 that somebody leads, 1 that nobody does,
2 that it cannot be told.`,
		Example: `  zklock leader /app/leader
  zklock leader --format value /app/leader
  zklock leader --watch --format json /app/leader`,
		Args: oneLock,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notTogether(cmd, "watch", "exit-code"); err != nil {
				return err
			}
			l.path = args[0]
			return l.end(l.onSession(cmd, l.run))
		},
	}
	l.format = oneOf("text", "json", "value")
	l.format.add(cmd, "format", "a line for people, a line of JSON, or what the leader says of itself")
	cmd.Flags().BoolVar(&l.watch, "watch", false, "go on, and write a line for each change")
	cmd.Flags().BoolVar(&l.exitCode, "exit-code", false, "exit with 0 if somebody leads, 1 if nobody does, 2 if that cannot be told")
	l.connection.flags(cmd)
	return cmd
}

// end makes of how it has gone how the command ends.
func (l *leader) end(err error) error {
	var interrupted *job.Interrupted
	switch isSignal := errors.As(err, &interrupted); {
	case l.watch && isSignal:
		return exitWith(interrupted.ExitCode()) // which is how it is meant to end
	case errors.Is(err, election.ErrNoLeader) && l.exitCode:
		return exitWith(answerNobody)
	case errors.Is(err, election.ErrNoLeader):
		return nil
	case l.exitCode && err != nil && !isSignal && codeOf(err) != exitUsage:
		return withCode(answerUnknown, err)
	}
	return err
}

func (l *leader) run(ctx context.Context, session *zklock.Session, out io.Writer) error {
	if !l.watch {
		ctx, cancel := context.WithTimeout(ctx, session.Timeout())
		defer cancel()
		found, err := election.Leader(ctx, session, l.path)
		return l.show(out, found, err)
	}
	for found, err := range election.Observe(ctx, session, l.path) {
		if err := l.show(out, found, err); err != nil && !errors.Is(err, election.ErrNoLeader) {
			return err
		}
	}
	return context.Cause(ctx)
}

// show writes who leads, and returns err, or why it could not.
func (l *leader) show(out io.Writer, found election.Leadership, err error) error {
	nobody := errors.Is(err, election.ErrNoLeader)
	if err != nil && !nobody {
		return classify(lacking("READ", l.path, err))
	}
	var failed error
	switch l.format.value {
	case "json":
		failed = l.writeJSON(plainWriter{out}, found, nobody)
	case "value":
		_, failed = fmt.Fprintf(out, "%s\n", found.Value)
	default:
		_, failed = fmt.Fprintln(out, l.line(found, nobody))
	}
	if failed != nil {
		return withCode(exitFailure, failed)
	}
	return err
}

// line says for people who leads.
func (l *leader) line(found election.Leadership, nobody bool) string {
	if nobody {
		return "nobody leads " + l.path
	}
	said, who := "", "somebody"
	if len(found.Value) > 0 {
		said = plain.Name(string(found.Value), longestOwner) + ": "
	}
	if found.Host != "" {
		who = plain.Name(fmt.Sprintf("%s pid %d", found.Host, found.PID), longestOwner)
	}
	return fmt.Sprintf("%s%s leads %s since %s, token %d, session %s", said, who, l.path,
		found.Since.Format(time.RFC3339), found.Token, client.Hex(found.Session))
}

// shownLeader is a leader as JSON has it.
type shownLeader struct {
	Value       string    `json:"value"`
	ValueBase64 []byte    `json:"value_base64,omitempty"` // if it is not UTF-8, which JSON cannot say
	Token       int64     `json:"token"`
	Since       time.Time `json:"since"`
	Session     string    `json:"session"`
	Host        string    `json:"host,omitempty"`
	PID         int       `json:"pid,omitempty"`
	Node        string    `json:"node"`
}

func (l *leader) writeJSON(to io.Writer, found election.Leadership, nobody bool) error {
	var shown *shownLeader
	if !nobody {
		shown = &shownLeader{
			Value: string(found.Value), Token: found.Token, Since: found.Since,
			Session: client.Hex(found.Session), Host: found.Host, PID: found.PID, Node: found.Node,
		}
		if !utf8.Valid(found.Value) {
			shown.ValueBase64 = found.Value
		}
	}
	return json.NewEncoder(to).Encode(struct {
		Path   string       `json:"path"`
		Leader *shownLeader `json:"leader"`
	}{l.path, shown})
}
