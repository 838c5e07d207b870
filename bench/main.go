// Bench measures zklock beside its peers: the same work, in turns, on the same
// ZooKeeper. `make bench` runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/zklock/zklock/bench/internal/driver"
	"github.com/zklock/zklock/bench/internal/work"
	"github.com/zklock/zklock/bench/internal/worker"
)

// options are what the flags say.
type options struct {
	rounds   int
	window   time.Duration
	warm     time.Duration
	limit    time.Duration
	servers  int
	works    *regexp.Regexp
	parties  *regexp.Regexp
	results  string
	render   bool
	profiles string
	smoke    bool
	worker   string
}

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = act(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (options, error) {
	var o options
	var works, parties string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 7, "how often each work is done")
	flags.DurationVar(&o.window, "window", time.Second, "how long one measurement takes")
	flags.DurationVar(&o.warm, "warm", 250*time.Millisecond, "how long a work runs before it is measured")
	flags.DurationVar(&o.limit, "limit", 28*time.Minute, "how long the run may take; what does not fit is left out, the last rounds first")
	flags.IntVar(&o.servers, "servers", 1, "number of ZooKeeper servers")
	flags.StringVar(&works, "works", ".", "regular expression of the works to do, such as ^uncontended")
	flags.StringVar(&parties, "parties", ".", "regular expression of the parties that take part")
	flags.StringVar(&o.results, "results", "", "the directory where benchmarks.md and its plots are written, docs/results")
	flags.BoolVar(&o.render, "render", false, "measure nothing, write the page anew from the data kept beside it")
	flags.BoolVar(&o.smoke, "smoke", false, "a minute's run that shows that everything works")
	flags.StringVar(&o.profiles, driver.ProfileFlag, "", "directory for CPU and allocation profiles of the Go parties")
	flags.StringVar(&o.worker, driver.WorkerFlag, "", "be the worker of a party (used by this program itself)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var errs [2]error
	o.works, errs[0] = regexp.Compile(works)
	o.parties, errs[1] = regexp.Compile(parties)
	if o.smoke {
		o.rounds, o.window, o.warm = 1, 100*time.Millisecond, 50*time.Millisecond
	}
	return o, errors.Join(errs[:]...)
}

func act(o options) error {
	if o.worker != "" {
		return worker.Serve(o.worker, o.profiles)
	}
	if o.render {
		return render(o)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return measure(ctx, o)
}

// chosen are the works that the flags ask for.
func (o options) chosen() []work.Work {
	var chosen []work.Work
	for _, w := range work.All() {
		if o.works.MatchString(w.ID) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}
