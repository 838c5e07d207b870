package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/cmd/zklock/internal/job"
	"github.com/zklock/zklock/election"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
)

// elect is one use of the elect command.
type elect struct {
	guarded
	value   string
	pause   duration
	restart *choice

	master     *job.Master
	executable string
	session    *zklock.Session
	signals    *relay
}

const electText = `Elect is a candidate in the election on PATH: of all that are, one leads. It runs the command
while it leads, as zklock run does under a lock, and gives the leadership up when nothing of
the command is left. When it has lost the leadership, or somebody has asked for it (zklock
revoke), the command is ended, and runs again when we lead again.

When the command ends by itself, we end with its exit code, unless --restart has us be a
candidate again, a second later at least. After a signal to end, to us (INT, QUIT, TERM) or
from the terminal, we end when the command has ended.

The command finds ZKLOCK_PATH, ZKLOCK_NODE, ZKLOCK_TOKEN and ZKLOCK_SESSION in its
environment. When the leadership is lost it is sent SIGTERM, and all that is left of it
SIGKILL after --kill-after. If somebody asks for the leadership, it is sent SIGTERM, and
leads until it has ended.`

const electExample = `  zklock elect /app/leader --value 10.0.0.7:8080 -- ./worker
  zklock elect --restart=on-failure --pause 10s /app/leader -- ./worker`

func newElect() *cobra.Command {
	e := new(elect)
	cmd := &cobra.Command{
		Use:     "elect [flags] PATH -- COMMAND [ARG...]",
		Short:   "Run a command while leading in an election",
		Long:    electText + exitCodes(electExits),
		Example: electExample,
		Args:    e.arguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e.log = e.logger(cmd)
			if !cmd.Flags().Changed(frontFlag) {
				return e.start()
			}
			return e.keep(cmd.Context())
		},
	}
	e.guarded.flags(cmd)
	e.onLost, e.onRevoke, e.exitCode = oneOf("term"), oneOf("term"), exitLost
	cmd.Flags().Var((*nonEmpty)(&e.value), "value", "what to say of the leader to who asks, such as its address (zklock leader)")
	cmd.Flags().Var(&e.pause, "pause", "be no candidate for this long after a term, for another one to lead")
	e.restart = oneOf("no", "on-failure", "always")
	e.restart.add(cmd, "restart", "whether to be a candidate again when the command has ended by itself")
	return cmd
}

// keep stands for election, and runs the command whenever we lead.
func (e *elect) keep(ctx context.Context) (err error) {
	if e.master, e.executable, err = e.begin(); err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	e.signals = &relay{end: end}
	go e.signals.run(e.master.Signals)
	err = e.stand(ctx)
	var last *ended
	var interrupted *job.Interrupted
	switch {
	case e.master.Died():
		return exitWith(exitFailure) // nobody asks
	case errors.As(err, &last):
		return exitWith(last.ExitCode())
	case errors.As(err, &interrupted):
		e.master.Failed(interrupted)
		return interrupted
	}
	return classify(err)
}

// stand leads again and again, until ctx ends.
func (e *elect) stand(ctx context.Context) (err error) {
	if e.session, err = e.join(ctx); err != nil {
		return err
	}
	defer func() {
		if closed := e.session.Close(); closed != nil {
			e.log.Warn("our node stays in the election until its session ends", "error", closed)
		}
	}()
	options := []election.Option{
		election.WithValue([]byte(e.value)), election.WithPause(e.pause.Duration),
		election.WithLossGrace(e.lossGrace(e.session)), election.WithTrace(e.trace()),
		election.WithRetry(func(error) bool { return true }), // lead decides
	}
	if e.acl.list != nil {
		options = append(options, election.WithACL(e.acl.list))
	}
	el, err := election.New(e.session, e.path, options...)
	if err != nil {
		return withCode(exitUsage, err) // no server was asked
	}
	return el.Run(ctx, func(leading context.Context, term *election.Term) error {
		again, err := e.lead(leading, term)
		if again && ctx.Err() == nil {
			e.master.Waits()
			return context.Canceled // tells nothing beside what ends Run
		}
		e.signals.end(err)
		return err
	})
}

// trace tells how it goes.
func (e *elect) trace() *zklock.Trace {
	return &zklock.Trace{
		Enqueued: func(i zklock.TraceInfo) { e.log.Info("a candidate", "node", i.Node, "ahead", i.Ahead) },
		Acquired: func(i zklock.TraceInfo) { e.log.Info("we lead", "node", i.Node, "token", i.Token) },
		Released: func(i zklock.TraceInfo) { e.log.Info("the leadership is given up", "node", i.Node) },
	}
}

// lead runs the command for a term. It returns whether we are to be a candidate again, and how it has
// ended.
func (e *elect) lead(ctx context.Context, term *election.Term) (again bool, err error) {
	hold := zklock.HoldFrom(ctx)
	if err := e.checkReadable(ctx, e.session, hold); err != nil {
		return false, err
	}
	signals, back := e.signals.lend()
	defer back()
	var interrupted *job.Interrupted
	if errors.As(context.Cause(ctx), &interrupted) { // there was no command to pass it on to
		return false, interrupted
	}
	e.heedRevocation(hold, signals)
	command := e.command(e.executable, e.session, hold, e.master)
	command.Signals, command.Lost = signals, e.lost(ctx, term, hold)
	held := command.Valid
	command.Valid = func() bool { return held() && refusal(term) == nil }
	result, err := job.Run(command, e.master, e.log)
	if refused := refusal(term); refused != nil {
		return true, refused // by which the candidacy ends
	}
	over := term.Err() != nil || latch.IsClosed(term.Revoked())
	switch {
	case errors.Is(err, job.ErrLost), errors.As(err, new(*job.Interrupted)):
		return over, err
	case err != nil:
		return false, err
	case byTerminal(result):
		return false, &ended{result}
	case over:
		return true, &ended{result}
	}
	if again = e.restarts(result); again {
		e.log.Warn("the command has ended, and we are a candidate again", "exit_code", result.ExitCode())
	}
	return again, &ended{result}
}

// lost returns a channel that is closed when the leadership is lost, or the servers refuse to show it to
// others: who is not seen to lead must not act.
func (e *elect) lost(ctx context.Context, term *election.Term, hold *zklock.Hold) <-chan struct{} {
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		<-ctx.Done()
		if err := refusal(term); err != nil {
			e.log.Warn("the servers refuse to show others that we lead", "error", err)
			return
		}
		<-hold.Context().Done()
	}()
	return lost
}

// refusal returns why others cannot see that we lead, nil unless the term has ended by that.
func refusal(term *election.Term) error {
	if err := term.Err(); client.Refused(err) && !errors.Is(err, zklock.ErrLost) {
		return err
	}
	return nil
}

// restarts reports whether --restart has us go on when the command has ended by itself.
func (e *elect) restarts(result job.Result) bool {
	return e.restart.value == "always" || e.restart.value == "on-failure" && result.ExitCode() != 0
}

// byTerminal reports whether a command was ended by what a terminal sends to all that runs on it.
func byTerminal(result job.Result) bool {
	status := result.Status
	return result.Terminal && status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT}, status.Signal())
}

// ended is how the command has ended.
type ended struct{ job.Result }

func (e *ended) Error() string {
	return fmt.Sprintf("the command has ended with code %d", e.ExitCode())
}

// relay takes signals to whom they are for. While a command runs that is the command; one to end means us
// too, but for HUP, by which many programs read their files again.
type relay struct {
	end context.CancelCauseFunc // ends the candidacy

	mu      sync.Mutex // guards command
	command chan os.Signal
}

func (r *relay) run(from <-chan os.Signal) {
	for sig := range from {
		r.mu.Lock()
		command := r.command
		if job.Ends(sig) && (command == nil || sig != syscall.SIGHUP) {
			r.end(&job.Interrupted{Signal: sig.(syscall.Signal)}) // before lend returns
		}
		r.mu.Unlock()
		select {
		case command <- sig:
		default: // there is none, or it has more of them than it can heed
		}
	}
}

// lend has the signals go to a command, until back is called. A signal to end that came before has ended
// the candidacy.
func (r *relay) lend() (signals chan os.Signal, back func()) {
	set := func(command chan os.Signal) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.command = command
	}
	signals = make(chan os.Signal, 16)
	set(signals)
	return signals, func() { set(nil) }
}
