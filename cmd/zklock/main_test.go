package main_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/zklock/zklock/cmd/zklock/internal/job"
)

// zklockBinary is the command, built for these tests.
var zklockBinary string

// TestMain builds the command. This executable is also the program that the
// command runs in some of the tests.
func TestMain(m *testing.M) {
	if child := os.Getenv(childVariable); child != "" {
		children[child]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(suite{m})
}

type suite struct{ *testing.M }

func (s suite) Run() int {
	flag.Parse()
	if !isSet("test.parallel") { // most wait, for processes and for a server
		_ = flag.Set("test.parallel", "8")
	}
	dir, err := os.MkdirTemp("", "zklock-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	_ = os.Chmod(dir, 0o755) // a test executes it as another user
	zklockBinary = filepath.Join(dir, "zklock")
	build := exec.Command("go", "build", "-o", zklockBinary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	defer stopSharedServer()
	for _, sig := range job.Ending { // nohup, or a shell's &, has whoever we start ignore it too
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	return s.M.Run()
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// childVariable makes this executable one of the programs that zklock runs.
const childVariable = "ZKLOCK_TEST_CHILD"

// children are those programs. Each ends at the end of its standard input.
var children = map[string]func(){
	"announce": announce,
	// defector announces too, from its parent's process group.
	"defector": func() {
		group, err := syscall.Getpgid(os.Getppid())
		if err == nil {
			err = syscall.Setpgid(0, group)
		}
		if err != nil {
			fmt.Println(err)
		}
		announce()
	},
	// careless goes into a session of its own and leaves a zombie behind in the
	// process group that it comes from.
	"careless": func() {
		child := exec.Command("true")
		if err := child.Start(); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := syscall.Setsid(); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("ready", child.Process.Pid)
		untilEndOfInput()
	},
	// family has a child that announces, in the same process group, and ends by
	// SIGUSR1. It is deaf to the other signals.
	"family": func() {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=announce")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			fmt.Println(err)
			return
		}
		signals := make(chan os.Signal, 16)
		signal.Notify(signals, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGINT)
		for <-signals != syscall.SIGUSR1 {
		}
	},
}

// announce says which signals it gets, and survives them.
func announce() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGWINCH)
	fmt.Println("ready", os.Getpid())
	go func() {
		for sig := range signals {
			fmt.Println(unix.SignalName(sig.(syscall.Signal)))
		}
	}()
	untilEndOfInput()
}

func untilEndOfInput() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println("got", lines.Text())
	}
}

// as returns the command line, behind --, of one of the children.
func as(child string) []string {
	return []string{"--", "env", childVariable + "=" + child, os.Args[0]}
}
