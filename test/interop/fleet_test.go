package interop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

const (
	sessionTimeout = 20 * time.Second

	// patience is how long a fleet may take; only a failing one takes it.
	patience = 3 * time.Minute
)

// fleet is a number of workers on one lock.
type fleet struct {
	t       *testing.T
	server  *apachezk.Server
	addr    string // at which the workers reach it
	dir     string
	size    int      // of a semaphore
	env     []string // of the workers, beside ours
	line    line
	workers []*member

	mu  sync.Mutex
	log []report // in the order in which they came
}

type member struct {
	name  string
	cmd   *exec.Cmd
	start io.Writer
	ready chan struct{}
	ended chan error
	quota int
}

// report is what a worker said after a section.
type report struct {
	by    *member
	wrote bool
	n     int
}

func newFleet(t *testing.T, configure ...func(*apachezk.Config)) *fleet {
	t.Helper()
	server := apachezk.Run(t, append(configure, func(c *apachezk.Config) {
		c.ContainerCheck = time.Hour // a lock that is made anew counts afresh
	})...).Server(0)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "number"), []byte("0"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "seats"), 0o700))
	f := &fleet{t: t, server: server, dir: dir}
	proxy := faultproxy.Run(t, server.Addr())
	proxy.OnRequest(f.line.note)
	f.addr = proxy.Addr()
	return f
}

// add starts n workers of a kind, which wait for run. Kind is that of the
// language's own program.
func (f *fleet) add(n int, language func(*testing.T) []string, kind string, sections int) {
	f.t.Helper()
	program := language(f.t)
	for range n {
		name := fmt.Sprintf("%s-%d", kind, len(f.workers))
		args := append(program[1:len(program):len(program)],
			kind, f.addr, "/lock", f.dir, strconv.Itoa(sections), strconv.Itoa(f.size), name)
		m := &member{name: filepath.Base(program[0]) + "-" + name, quota: sections, ready: make(chan struct{}), ended: make(chan error, 1)}
		m.cmd = exec.Command(program[0], args...)
		m.cmd.Stderr = os.Stderr
		m.cmd.Env = append(os.Environ(), f.env...)
		orders, err := m.cmd.StdinPipe()
		require.NoError(f.t, err)
		m.start = orders
		out, err := m.cmd.StdoutPipe()
		require.NoError(f.t, err)
		require.NoError(f.t, m.cmd.Start())
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			f.listen(m, out)
			m.ended <- m.cmd.Wait()
		}()
		f.t.Cleanup(func() {
			_ = m.cmd.Process.Kill() // an error says that it has ended
			<-heard
		})
		f.workers = append(f.workers, m)
	}
}

// listen takes down what a worker says.
func (f *fleet) listen(m *member, out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		r := report{by: m}
		verb, number, _ := strings.Cut(lines.Text(), " ")
		n, err := strconv.Atoi(number)
		switch {
		case lines.Text() == "ready":
			close(m.ready)
			continue
		case err == nil && (verb == "did" || verb == "wrote"):
			r.n, r.wrote = n, verb == "wrote"
		default:
			f.t.Errorf("%s says: %s", m.name, lines.Text())
		}
		f.mu.Lock()
		f.log = append(f.log, r)
		f.mu.Unlock()
	}
}

// run lets all workers begin at once, and waits for their ends.
func (f *fleet) run() {
	f.t.Helper()
	f.begin()
	began := time.Now()
	f.wait()
	f.t.Logf("%d sections in %v", len(f.log), time.Since(began).Round(time.Millisecond))
}

func (f *fleet) begin() {
	f.t.Helper()
	late := time.After(patience)
	for _, m := range f.workers {
		select {
		case <-m.ready:
		case err := <-m.ended:
			require.FailNow(f.t, "a worker ended before it began", "%s: %v", m.name, err)
		case <-late:
			require.FailNow(f.t, "a worker does not come up", m.name)
		}
	}
	for _, m := range f.workers {
		_, err := fmt.Fprintln(m.start, "go")
		require.NoError(f.t, err)
	}
}

func (f *fleet) wait() {
	f.t.Helper()
	late := time.After(patience)
	for _, m := range f.workers {
		select {
		case err := <-m.ended:
			require.NoError(f.t, err, m.name)
		case <-late:
			require.FailNow(f.t, "a worker does not end", "%s: %s", m.name, f.soFar())
		}
	}
}

// requireFair checks that nobody was passed in the queue. All have had their turns.
func (f *fleet) requireFair() {
	f.t.Helper()
	turns := 0
	for _, m := range f.workers {
		turns += m.quota
	}
	f.line.requireFair(f.t, turns/2) // a cohort shares its turns
}

func (f *fleet) soFar() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress(len(f.log))
}

func (f *fleet) progress(reports int) string {
	done := make(map[*member]int)
	for _, r := range f.log[:reports] {
		done[r.by]++
	}
	var b strings.Builder
	for _, m := range f.workers {
		fmt.Fprintf(&b, " %s %d/%d", m.name, done[m], m.quota)
	}
	return b.String()
}

// number returns what the workers have made of the number in the file.
func (f *fleet) number() int {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "number"))
	require.NoError(f.t, err)
	n, err := strconv.Atoi(string(text))
	require.NoError(f.t, err)
	return n
}

// ours is the program of this module's workers, and of zk.Lock's.
func ours(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return []string{self, workerCommand}
}

// curator is the program of Curator's workers.
func curator(t *testing.T) []string {
	t.Helper()
	return javaProgram(t, "libcurator-recipes-java", "Peer", "curator-client", "curator-framework", "curator-recipes", "guava", "zookeeper", "slf4j-nop")
}

// javaProgram is a class of testdata with its jars, which the package brings. Whoever asks first
// compiles it.
func javaProgram(t *testing.T, debian, class string, jars ...string) []string {
	t.Helper()
	javac, err := exec.LookPath("javac")
	if err != nil {
		t.Skip("needs javac: apt-get install default-jdk-headless")
	}
	classes := filepath.Join(scratch, "classes")
	classpath := []string{classes}
	for _, jar := range jars {
		path := filepath.Join("/usr/share/java", jar+".jar")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no %s: apt-get install %s", path, debian)
		}
		classpath = append(classpath, path)
	}
	all := strings.Join(classpath, ":")
	if _, err := os.Stat(filepath.Join(classes, class+".class")); err != nil {
		out, err := exec.Command(javac, "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none", "-d", classes, "-cp", all, filepath.Join("testdata", class+".java")).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	return []string{"java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", all, class}
}

// kazoo is the program of kazoo's workers.
func kazoo(t *testing.T) []string {
	t.Helper()
	return python(t, "peer.py")
}

// python is a program of testdata that uses kazoo.
func python(t *testing.T, script string) []string {
	t.Helper()
	const python = "/usr/bin/python3" // Debian's, which sees Debian's packages
	if out, err := exec.Command(python, "-c", "import kazoo").CombinedOutput(); err != nil {
		t.Skipf("needs kazoo: apt-get install python3-kazoo: %v %s", err, out)
	}
	return []string{python, filepath.Join("testdata", script)}
}
