package demo

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock"
)

const connectPatience = 20 * time.Second

// job is what one worker process does. It reaches the process as JSON, in its
// second argument.
type job struct {
	Counter  string        // the shared file
	Sections int           // how often to increment it
	Servers  []string      // of ZooKeeper; without any there is no lock
	Lock     string        // path of the lock
	Timeout  time.Duration // of the session
	StayIn   int           // the section to stay in until killed, counted from 1; 0 for none
}

// increments is how many the worker will make.
func (j job) increments() int {
	if j.StayIn > 0 {
		return j.StayIn - 1
	}
	return j.Sections
}

// event is what a worker reports on its standard output, as lines of JSON.
type event struct {
	Kind   kind
	At     time.Time
	Value  int           `json:",omitempty"` // what it wrote to the file
	Waited time.Duration `json:",omitempty"` // for the lock
}

type kind string

const (
	ready   kind = "ready"
	wrote   kind = "wrote"
	staying kind = "staying" // in its section, holding the lock, to be killed there
)

// Work is the main function of a worker process. It starts at the first byte of
// in, and the process ends at the end of in: no worker outlives the demo.
func Work(arg string, in io.Reader, out io.Writer) error {
	var j job
	if err := json.Unmarshal([]byte(arg), &j); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	lock, done, err := j.open()
	if err != nil {
		return err
	}
	defer done()

	report := json.NewEncoder(out)
	if err := report.Encode(event{Kind: ready, At: time.Now()}); err != nil {
		return err
	}
	if _, err := in.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting for the start: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1)
	}()
	for n := 1; n <= j.Sections; n++ {
		if err := j.section(lock, report, n); err != nil {
			return err
		}
	}
	return nil
}

// open returns the lock and a function that gives up what it needs.
func (j job) open() (lock sync.Locker, done func(), err error) {
	if len(j.Servers) == 0 {
		return noLock{}, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectPatience)
	defer cancel()
	session, err := zklock.Connect(ctx, j.Servers, j.Timeout)
	if err != nil {
		return nil, nil, err
	}
	locker, err := zklock.New(session, j.Lock)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return locker, func() { session.Close() }, nil
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

func (j job) section(lock sync.Locker, report *json.Encoder, n int) error {
	asked := time.Now()
	lock.Lock()
	defer lock.Unlock()
	waited := time.Since(asked)

	if n == j.StayIn {
		if err := report.Encode(event{Kind: staying, At: time.Now(), Waited: waited}); err != nil {
			return err
		}
		select {} // for the kill
	}
	value, err := increment(j.Counter)
	if err != nil {
		return err
	}
	return report.Encode(event{Kind: wrote, At: time.Now(), Value: value, Waited: waited})
}

// increment adds one to the number in the file and returns what it wrote.
func increment(file string) (int, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	value, err := parse(text)
	if err != nil {
		return 0, err
	}
	think()
	value++
	// One write of constant length, so that even a reader without the lock
	// finds a number in the file.
	_, err = f.WriteAt(formatted(value), 0)
	return value, err
}

func formatted(value int) []byte { return fmt.Appendf(nil, "%09d\n", value) }

func parse(text []byte) (int, error) { return strconv.Atoi(strings.TrimSpace(string(text))) }

var block [2 << 20]byte

// think stands for what a program does between reading and writing: about a
// millisecond of work.
func think() {
	sum := sha256.Sum256(block[:])
	copy(block[:], sum[:])
}
