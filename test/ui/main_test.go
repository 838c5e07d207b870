// Package ui_test drives the page of zklock ui in a real browser, on a real ZooKeeper.
package ui_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

const patience = 30 * time.Second

// shared is what all tests use: one server, one command, one browser.
var shared struct {
	dir      string
	ensemble *apachezk.Ensemble
	zklock   string // the command
	browser  context.Context
	stop     []func()
	err      error
	once     sync.Once
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(shared.stop) - 1; i >= 0; i-- {
		shared.stop[i]()
	}
	os.Exit(code)
}

// prepare starts what all tests use, or skips the test, loudly.
func prepare(t *testing.T) {
	t.Helper()
	shared.once.Do(func() { shared.err = start() })
	var missing missing
	if errors.As(shared.err, &missing) || errors.Is(shared.err, apachezk.ErrNotInstalled) {
		fmt.Fprintf(os.Stderr, "\n*** %s is SKIPPED: %v\n\n", t.Name(), shared.err)
		t.Skip(shared.err)
	}
	require.NoError(t, shared.err)
}

// missing says what is not to be had on this machine.
type missing string

func (m missing) Error() string { return string(m) }

func start() error {
	chromium := ""
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		return missing("there is no Chromium: scripts/install-browser.sh installs Debian's")
	}
	var err error
	if shared.ensemble, err = apachezk.Start(context.Background(), apachezk.Config{Servers: *servers}); err != nil {
		return err
	}
	shared.stop = append(shared.stop, shared.ensemble.Stop)
	if shared.dir, err = os.MkdirTemp("", "zklock-ui-"); err != nil {
		return err
	}
	shared.stop = append(shared.stop, func() { os.RemoveAll(shared.dir) })
	shared.zklock = filepath.Join(shared.dir, "zklock")
	if out, err := exec.Command("go", "build", "-C", "../../cmd/zklock", "-o", shared.zklock, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.UserDataDir(filepath.Join(shared.dir, "browser")),
		chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	allocator, stopAll := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stop := chromedp.NewContext(allocator)
	shared.browser = browser
	shared.stop = append(shared.stop, stopAll, stop)
	return chromedp.Do(browser)
}

// dial returns a plain client with a session of its own.
func dial(t *testing.T) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect(shared.ensemble.Addrs(), 10*time.Second, zk.WithLogger(silence{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	for event := range events {
		if event.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// page is a running zklock ui.
type page struct {
	t     *testing.T
	url   string
	token string
	args  []string
	cmd   *exec.Cmd
	log   *logs
}

// logs is what a command writes to standard error.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// open starts zklock ui on a free port.
func open(t *testing.T, prefix string, args ...string) *page {
	t.Helper()
	p := &page{t: t, log: new(logs)}
	p.args = append(append([]string{"ui", "--servers", strings.Join(shared.ensemble.Addrs(), ",")}, args...), prefix)
	t.Cleanup(p.stop)
	p.start("127.0.0.1:0")
	return p
}

func (p *page) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	require.NoError(p.t, p.cmd.Wait(), p.log)
}

// restart stops the command, and returns what starts it again.
func (p *page) restart() (again func()) {
	p.stop()
	at, err := url.Parse(p.url)
	require.NoError(p.t, err)
	return func() { p.start(at.Host) }
}

func (p *page) start(listen string) {
	t := p.t
	t.Helper()
	p.cmd = exec.Command(shared.zklock, append(p.args, "--listen", listen)...)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = p.log
	require.NoError(t, p.cmd.Start())
	lines := bufio.NewReader(out)
	p.url, err = lines.ReadString('\n')
	require.NoError(t, err, p.log)
	p.url = strings.TrimSpace(p.url)
	if slices.Contains(p.args, "--allow") {
		said, err := lines.ReadString('\n')
		require.NoError(t, err)
		p.token = strings.TrimSpace(strings.TrimPrefix(said, "token: "))
	}
}

// usage is how much memory and time of a processor the command has taken.
func (p *page) usage() string {
	pid := fmt.Sprint(p.cmd.Process.Pid)
	out, err := exec.Command("ps", "-o", "rss=,cputimes=", "-p", pid).Output()
	if err != nil {
		return err.Error()
	}
	var kilobytes, seconds int
	_, _ = fmt.Sscan(string(out), &kilobytes, &seconds)
	return fmt.Sprintf("%d MB, %d s of a processor", kilobytes>>10, seconds)
}

// step is what a person does in a tab.
type step = chromedp.Action[chromedp.Void]

// tab opens a tab of the browser.
func tab(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := chromedp.NewContext(shared.browser)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(ctx))
	return ctx
}

// run does what a person would do in a tab.
func run(t *testing.T, ctx context.Context, steps ...step) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

// eval returns what an expression is in the page.
func eval[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err, expression)
	return value
}

// text returns what a part of the page shows.
func text(t *testing.T, ctx context.Context, selector string) string {
	t.Helper()
	said := eval[string](t, ctx, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText).join("\n")`, selector))
	return strings.Join(strings.Fields(said), " ")
}

// await waits until a part of the page shows something.
func await(t *testing.T, ctx context.Context, selector, want string) {
	t.Helper()
	if !shows(t, ctx, selector, want, patience) {
		t.Fatalf("%s does not show %q: %s", selector, want, text(t, ctx, "body"))
	}
}

// shows reports whether a part of the page shows something in time.
func shows(t *testing.T, ctx context.Context, selector, want string, within time.Duration) bool {
	t.Helper()
	for late := time.Now().Add(within); !strings.Contains(text(t, ctx, selector), want); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			return false
		}
	}
	return true
}

// press presses a key that leads to another page. A browser beside load may lose one that comes as it has just
// changed the page: then it is pressed again, as somebody would.
func press(t *testing.T, ctx context.Context, key, selector, want string) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); {
		run(t, ctx, chromedp.KeyEvent(key))
		if shows(t, ctx, selector, want, 5*time.Second) {
			return
		}
	}
	await(t, ctx, selector, want)
}
