package interop

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// A worker is a process that goes through a number of critical sections. It is
// called with the kind of its work, the server, the path of the lock, a directory,
// the number of sections, a semaphore's size, and its own name. When it is
// connected it says "ready", begins when it is told "go", and ends when its
// orders do. It says
//
//	did n     after a section; n is what it made of the number in the file, or
//	          what it read there, or how many seats of a semaphore were taken
//	wrote n   after a section that wrote, in a read/write lock
//
// and anything else if something is wrong. The workers of the other libraries, in
// testdata, do the same.
const workerCommand = "interop-worker"

type worker struct {
	server, path, dir string
	sections, size    int
	name              string
	session           *zklock.Session
}

func runWorker(args []string) int {
	w := worker{server: args[1], path: args[2], dir: args[3], name: args[6]}
	var err error
	if w.sections, err = strconv.Atoi(args[4]); err == nil {
		w.size, err = strconv.Atoi(args[5])
	}
	if err == nil {
		err = w.work(args[0])
	}
	if err != nil {
		fmt.Println(w.name, "fails:", err)
		return 1
	}
	return 0
}

func (w *worker) work(kind string) (err error) {
	if w.session, err = zklock.Connect(context.Background(), []string{w.server}, sessionTimeout, w.login()...); err != nil {
		return err
	}
	defer w.session.Close()
	prepare := map[string]func() (func(i int) error, error){
		"mutex":     func() (func(int) error, error) { return w.mutex() },
		"creator":   func() (func(int) error, error) { return w.mutex(zklock.WithACL(zk.AuthACL(zk.PermAll))) },
		"cohort":    func() (func(int) error, error) { return w.mutex(zklock.WithHandoff(3)) },
		"zk.Lock":   w.zkLock,
		"rw":        w.readWrite,
		"semaphore": w.semaphore,
		"herd":      w.herd,
	}[kind]
	section, err := prepare()
	if err != nil {
		return err
	}
	awaitGo()
	if kind == "herd" {
		return section(0)
	}
	if kind != "cohort" {
		return w.loop(w.sections, section)
	}
	var half sync.WaitGroup
	var other error
	half.Go(func() { other = w.loop(w.sections/2, section) })
	err = w.loop(w.sections-w.sections/2, section)
	half.Wait()
	if err == nil {
		err = other
	}
	return err
}

// passwordOfAnn is the variable by which a worker logs in by SASL.
const passwordOfAnn = "INTEROP_ANN"

func (w *worker) login() []zklock.SessionOption {
	if password, is := os.LookupEnv(passwordOfAnn); is {
		return []zklock.SessionOption{zklock.WithSASL(zklock.DigestMD5("ann", password))}
	}
	return nil
}

func (w *worker) loop(sections int, section func(i int) error) error {
	for i := range sections {
		if err := section(i); err != nil {
			return err
		}
	}
	return nil
}

func awaitGo() {
	orders := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	_, _ = orders.ReadString('\n')
	go func() {
		_, _ = orders.ReadString('\n')
		os.Exit(3) // the test is gone
	}()
}

func (w *worker) mutex(opts ...zklock.Option) (func(int) error, error) {
	l, err := zklock.New(w.session, w.path, opts...)
	return func(int) error {
		return l.Do(context.Background(), func(context.Context) error {
			n, err := w.increment()
			fmt.Println("did", n)
			return err
		})
	}, err
}

func (w *worker) zkLock() (func(int) error, error) {
	conn, _, err := zk.Connect([]string{w.server}, sessionTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	l := zk.NewLock(conn, w.path, zk.WorldACL(zk.PermAll))
	return func(int) error {
		if err := l.Lock(); err != nil {
			return err
		}
		n, err := w.increment()
		if err != nil {
			return err
		}
		fmt.Println("did", n)
		return l.Unlock()
	}, nil
}

func (w *worker) increment() (int, error) {
	n, err := w.number()
	if err != nil {
		return 0, err
	}
	return n + 1, os.WriteFile(filepath.Join(w.dir, "number"), []byte(strconv.Itoa(n+1)), 0o600)
}

func (w *worker) number() (int, error) {
	text, err := os.ReadFile(filepath.Join(w.dir, "number"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(text))
}

// readWrite writes in every fourth section, and reads on after every other one of
// those.
func (w *worker) readWrite() (func(int) error, error) {
	l, err := zklock.NewRW(w.session, w.path)
	return func(i int) error {
		if i%4 != 0 {
			l.RLock()
			defer l.RUnlock()
			n, err := w.steady()
			fmt.Println("did", n)
			return err
		}
		l.Lock()
		n, err := w.increment()
		if i%8 == 0 {
			l.RLock()
			defer l.RUnlock()
		}
		l.Unlock()
		if i%8 == 0 && err == nil {
			var now int
			if now, err = w.steady(); now != n {
				fmt.Println("a writer came in between")
			}
		}
		fmt.Println("wrote", n)
		return err
	}, err
}

// steady reads the number twice: no writer may be at it.
func (w *worker) steady() (int, error) {
	n, err := w.number()
	if err != nil {
		return 0, err
	}
	time.Sleep(200 * time.Microsecond) // for a writer that should not be there
	again, err := w.number()
	if again != n {
		fmt.Println("a writer was at it")
	}
	return n, err
}

// semaphore takes one permit or two, and a seat for each.
func (w *worker) semaphore() (func(int) error, error) {
	sem, err := zklock.NewSemaphore(w.session, w.path, w.size)
	return func(i int) error {
		h, err := sem.Acquire(context.Background(), 1+i%2)
		if err != nil {
			return err
		}
		taken, err := w.sit(1 + i%2)
		if err != nil {
			return err
		}
		fmt.Println("did", taken)
		return h.Release(context.Background())
	}, err
}

// sit takes seats for a moment, and returns how many are taken in all.
func (w *worker) sit(seats int) (int, error) {
	dir := filepath.Join(w.dir, "seats")
	for i := range seats {
		seat := filepath.Join(dir, fmt.Sprint(w.name, "-", i))
		f, err := os.OpenFile(seat, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return 0, err
		}
		f.Close()
		defer os.Remove(seat)
	}
	taken, err := os.ReadDir(dir)
	time.Sleep(200 * time.Microsecond) // for others to find the seats taken
	return len(taken), err
}
