//go:build unix

package zklockgocron_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zklockgocron"
)

var long = flag.Bool("long", false, "let the processes work for a minute")

// asInstanceEnv has this executable be an instance of a service: the server, what there is a lock of (job
// or run), how many seconds there are between two runs, and how fast its clock is.
const asInstanceEnv = "ZKLOCKGOCRON_TEST_INSTANCE"

func asInstance() {
	if what := os.Getenv(asInstanceEnv); what != "" {
		if err := serve(strings.Fields(what)); err != nil {
			log.Fatal(err)
		}
	}
}

// serve has a job that says of which second its run is.
func serve(args []string) error {
	every, err := time.ParseDuration(args[2] + "s")
	if err != nil {
		return err
	}
	by, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	clock := shifted{clockwork.NewRealClock(), by}
	session, err := zklock.Connect(context.Background(), args[:1], timeout)
	if err != nil {
		return err
	}
	of, err := newInstancesLocker(session, args[1], clock.Now)
	if err != nil {
		return err
	}
	run := &timed{Locker: of, now: clock.Now}
	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(run), gocron.WithClock(clock))
	if err != nil {
		return err
	}
	_, err = scheduler.NewJob(gocron.CronJob("*/"+args[2]+" * * * * *", true), gocron.NewTask(func() {
		fmt.Println(run.began.Load().Add(every / 10).Truncate(every).Unix())
	}), gocron.WithName("digest"))
	if err != nil {
		return err
	}
	scheduler.Start()
	fmt.Println("ready")
	select {}
}

// timed knows when the run began that has the lock: the job itself may begin a second later on a busy machine.
type timed struct {
	gocron.Locker
	now   func() time.Time
	began atomic.Pointer[time.Time]
}

func (l *timed) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	now := l.now()
	lock, err := l.Locker.Lock(ctx, job)
	if err == nil {
		l.began.Store(&now)
	}
	return lock, err
}

func newInstancesLocker(s *zklock.Session, of string, now func() time.Time) (gocron.Locker, error) {
	if of == "job" {
		return zklockgocron.NewLocker(s, path+"/job", 2*time.Second)
	}
	l, err := zklockgocron.NewLocker(s, path+"/run", 4*time.Second)
	if err != nil {
		return nil, err
	}
	return l.Every(time.Second, now)
}

// line is what an instance has said.
type line struct {
	of   *exec.Cmd
	text string
}

// start starts an instance, until the test ends.
func start(t *testing.T, lines chan<- line, args ...string) {
	t.Helper()
	p := exec.Command(os.Args[0])
	p.Env = append(os.Environ(), asInstanceEnv+"="+strings.Join(args, " "))
	p.Stderr = os.Stderr
	said, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(said); s.Scan(); {
			lines <- line{p, s.Text()}
		}
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-read
		p.Wait()
	})
}

// Three instances have the same job. Halfway the one that has run it last is killed.
func TestThreeProcessesRunEachJobOnceThoughOneIsKilled(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	session, err := zklock.Connect(t.Context(), []string{server.Addr()}, timeout)
	require.NoError(t, err)
	defer session.Close()
	for name, test := range map[string]struct {
		of     string
		every  int
		clocks []string
	}{
		"every second":                             {"run", 1, []string{"0s", "0s", "0s"}},
		"every second, clocks 800 ms apart":        {"run", 1, []string{"0s", "400ms", "800ms"}},
		"every three seconds, clocks 800 ms apart": {"job", 3, []string{"0s", "400ms", "800ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := make(chan line, 1000)
			for _, by := range test.clocks {
				start(t, lines, server.Addr(), test.of, strconv.Itoa(test.every), by)
			}
			awaitReady(t, lines, len(test.clocks))
			requireEachOnce(t, lines, test.every, func(last *exec.Cmd) {
				if test.of == "job" {
					awaitFree(t, session) // or the others would skip the job until its session has ended
				}
				require.NoError(t, last.Process.Kill())
			})
		})
	}
}

func awaitReady(t *testing.T, lines <-chan line, n int) {
	t.Helper()
	for n > 0 {
		if l := next(t, lines); l.text == "ready" {
			n--
		}
	}
}

// requireEachOnce checks that there is one run of each of the next times of the schedule. Halfway kill is called.
func requireEachOnce(t *testing.T, lines <-chan line, every int, kill func(last *exec.Cmd)) {
	t.Helper()
	span := 6
	if *long {
		span = 60
	}
	runs, of := make(map[int]int), make(map[*exec.Cmd]int)
	var killed *exec.Cmd
	first := second(t, next(t, lines)) + every
	over := first + span
	for {
		l := next(t, lines)
		now := second(t, l)
		if now > over { // by a second at least: no clock is as late as that
			break
		}
		runs[now]++
		of[l.of]++
		if now >= first+span/2 && killed == nil {
			killed = l.of
			kill(l.of)
		}
	}
	for now := first; now < over; now += every {
		require.Equal(t, 1, runs[now], "runs at %d: %v", now, runs)
	}
	t.Logf("%d runs, each once; by process: %v, of which one was killed after %d", span/every, slices.Collect(maps.Values(of)), of[killed])
}

func second(t *testing.T, l line) int {
	t.Helper()
	s, err := strconv.Atoi(l.text)
	require.NoError(t, err)
	return s
}

func next(t *testing.T, lines <-chan line) line {
	t.Helper()
	select {
	case l := <-lines:
		return l
	case <-time.After(time.Minute):
		require.FailNow(t, "nobody says anything")
		return line{}
	}
}

// awaitFree waits until nobody has the job's lock.
func awaitFree(t *testing.T, s *zklock.Session) {
	t.Helper()
	require.Eventually(t, func() bool {
		locks, err := zklock.List(t.Context(), s, path+"/job")
		return err == nil && len(locks) == 0
	}, time.Minute, 10*time.Millisecond)
}
