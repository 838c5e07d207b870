package ui_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// place makes a path of a test's own.
func place(t *testing.T, conn *zk.Conn) string {
	t.Helper()
	path := fmt.Sprintf("/%d", time.Now().UnixNano())
	_, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	return path
}

// queue puts somebody into a lock's queue.
func queue(t *testing.T, conn *zk.Conn, path, data string) string {
	t.Helper()
	if _, err := conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != zk.ErrNodeExists {
		require.NoError(t, err)
	}
	node, err := conn.Create(path+"/_c_one-lock-", []byte(data), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	return node
}

// soon waits until a part of the page shows something, as await does, and notes how long it took: the page promises a second.
func soon(t *testing.T, ctx context.Context, selector, want string) {
	t.Helper()
	begun := time.Now()
	await(t, ctx, selector, want)
	t.Logf("%q is shown after %v", want, time.Since(begun).Round(time.Millisecond))
}

// mark marks the page that was loaded: another would not have the mark.
func mark(t *testing.T, ctx context.Context) { eval[int](t, ctx, "window.mark = 1") }

func requireMarked(t *testing.T, ctx context.Context) {
	t.Helper()
	require.Equal(t, 1, eval[int](t, ctx, "window.mark || 0"), "the page was loaded again")
}

// A lock is taken, handed over, lost and broken, and both pages show it.
func TestWhatHappensShowsByItself(t *testing.T) {
	prepare(t)
	conn := dial(t)
	path := place(t, conn)
	p := open(t, path, "--allow", "revoke,break")
	all, one := tab(t), tab(t)
	run(t, all, chromedp.Navigate(p.url))
	run(t, one, chromedp.Navigate(p.url+"lock?path="+url.QueryEscape(path+"/a")))
	await(t, all, "#told", "live")
	await(t, one, "#told", "live")
	mark(t, all)
	mark(t, one)

	first := queue(t, conn, path+"/a", "host=web-1 pid=11")
	soon(t, all, "table.locks", "web-1 pid 11")
	soon(t, one, ".facts", "held")
	second := queue(t, conn, path+"/a", "host=web-2 pid=22")
	soon(t, one, "table.queue", "waits web-2 pid 22 #1")
	require.NoError(t, conn.Delete(first, -1))
	soon(t, all, "table.locks", "web-2 pid 22")
	soon(t, one, "table.past", "given back")
	require.Equal(t, 2, eval[int](t, one, `document.querySelectorAll("rect.hold").length`))

	// Lost: its session ends, with all it has.
	_, err := conn.Set(second, []byte("__REVOKE__ host=web-2 pid=22"), -1)
	require.NoError(t, err)
	dying := dial(t)
	queue(t, dying, path+"/a", "host=web-3 pid=33")
	queue(t, dying, path+"/b", "host=web-3 pid=33")
	soon(t, all, "table.locks", path+"/b")
	require.NoError(t, conn.Delete(second, -1))
	soon(t, all, "table.locks", "web-3 pid 33 0x")
	fourth := queue(t, conn, path+"/a", "host=web-4 pid=44")
	soon(t, one, "table.queue", "web-4")
	dying.Close()
	soon(t, one, ".facts", "web-4 pid 44")
	soon(t, one, "table.past", "session ended")
	soon(t, all, "#sum", "1 lock in use")
	requireMarked(t, all)

	asks := func(verb string) {
		run(t, one, chromedp.Click(chromedp.CSS("a.button."+verb)), chromedp.WaitVisible(chromedp.CSS("#typed")))
	}
	typed := func(name, token string) {
		eval[string](t, one, `document.querySelector("#typed").value = document.querySelector("#token").value = ""`)
		run(t, one, chromedp.SendKeys(chromedp.CSS("#typed"), name), chromedp.SendKeys(chromedp.CSS("#token"), token), chromedp.Click(chromedp.CSS("form.confirm button")))
	}
	back := func() { run(t, one, chromedp.Click(chromedp.CSS("#up"))) }

	// Asked back, by the page.
	name := fourth[strings.LastIndexByte(fourth, '/')+1:]
	asks("revoke")
	typed(name, p.token)
	await(t, one, "#said", "asked")
	soon(t, all, "table.locks", "asked back")
	back()
	await(t, one, ".facts", "asked back")

	// Broken, by the page.
	asks("break")
	typed(name, "guess")
	await(t, one, "#wrong", "not the token")
	typed("another", p.token)
	await(t, one, "#wrong", "not the node's name")
	typed(name, p.token)
	await(t, one, "#said", "deleted")
	soon(t, all, "#sum", "0 locks in use")
	back()
	await(t, one, "table.past", "broken from this page")
	requireMarked(t, all)
	require.Contains(t, p.log.String(), "an action was done")
}

// Both the page's connection and the server's come back.
func TestAPageComesBackByItself(t *testing.T) {
	prepare(t)
	conn := dial(t)
	path := place(t, conn)
	queue(t, conn, path+"/a", "host=web-1 pid=11")
	p := open(t, path, "--session-timeout", "4s")
	ctx := tab(t)
	run(t, ctx, chromedp.Navigate(p.url))
	await(t, ctx, "table.locks", "web-1")
	mark(t, ctx)
	require.NoError(t, shared.ensemble.Server(0).Pause())
	paused := true
	defer func() {
		if paused {
			_ = shared.ensemble.Server(0).Continue()
		}
	}()
	await(t, ctx, "#link", "Not connected since")
	require.Contains(t, text(t, ctx, "table.locks"), "web-1", "what was seen stays")
	require.NoError(t, shared.ensemble.Server(0).Continue())
	paused = false
	await(t, ctx, "#link", "Connected to")
	queue(t, dial(t), path+"/b", "host=web-2 pid=22")
	await(t, ctx, "table.locks", "web-2")
	requireMarked(t, ctx)

	// zklock ui itself goes, and is started again.
	again := p.restart()
	await(t, ctx, "#told", "no answer")
	again()
	await(t, ctx, "#told", "live")
	await(t, ctx, "table.locks", "web-2")
	requireMarked(t, ctx)
}

func TestTenThousandLocksAndAQueueOfFiveThousand(t *testing.T) {
	prepare(t)
	conn := dial(t)
	path := place(t, conn)
	const locks, line = 10000, 5000
	var ops []any
	flush := func() {
		_, err := conn.Multi(ops...)
		require.NoError(t, err)
		ops = nil
	}
	for i := range locks {
		lock := fmt.Sprintf("%s/lock-of-%05d", path, i)
		ops = append(ops, &zk.CreateRequest{Path: lock, Acl: zk.WorldACL(zk.PermAll)},
			&zk.CreateRequest{Path: lock + "/_c_a-lock-0000000000", Data: fmt.Appendf(nil, "host=h%d pid=%d", i%100, i+1), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		if len(ops) == 500 {
			flush()
		}
	}
	for i := range line {
		ops = append(ops, &zk.CreateRequest{Path: fmt.Sprintf("%s/lock-of-00042/_c_b-lock-%010d", path, i+1), Data: fmt.Appendf(nil, "host=w pid=%d", i+1), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		if len(ops) == 500 {
			flush()
		}
	}
	p := open(t, path)
	ctx := tab(t)
	begun := time.Now()
	run(t, ctx, chromedp.Navigate(p.url))
	await(t, ctx, "#sum", "10,000 locks in use · 5,000 waiting")
	t.Logf("10,000 locks are shown after %v", time.Since(begun).Round(time.Millisecond))
	require.Equal(t, 100, eval[int](t, ctx, `document.querySelectorAll("table.locks tbody tr").length`))
	mark(t, ctx)
	run(t, ctx, chromedp.SendKeys(chromedp.CSS("#q"), "00042"))
	soon(t, ctx, "#sum", "1 shown")
	requireMarked(t, ctx)
	require.Equal(t, "q", eval[string](t, ctx, "document.activeElement.id"))
	run(t, ctx, chromedp.Navigate(p.url+"lock?path="+url.QueryEscape(path+"/lock-of-00042")))
	await(t, ctx, "table.queue", "w pid 99 ")
	run(t, ctx, chromedp.Click(chromedp.CSS("a[rel=next]")))
	await(t, ctx, ".pages", "101 to 200 of 5,001")
	require.NoError(t, conn.Delete(path+"/lock-of-00042/_c_a-lock-0000000000", -1))
	await(t, ctx, ".pages", "101 to 200 of 5,000")
	await(t, ctx, ".facts", "w pid 1 ")
	before := p.usage()
	for i := range 200 {
		require.NoError(t, conn.Delete(fmt.Sprintf("%s/lock-of-00042/_c_b-lock-%010d", path, i+1), -1))
	}
	await(t, ctx, ".pages", "101 to 200 of 4,800")
	t.Logf("zklock ui: %s, after 200 hand-overs of the queue: %s", before, p.usage())
}

// Without a mouse: the filter, the locks one after the other, one of them and back.
func TestThePageIsUsedByTheKeyboardAlone(t *testing.T) {
	prepare(t)
	conn := dial(t)
	path := place(t, conn)
	for _, name := range []string{"a", "b", "c"} {
		queue(t, conn, path+"/"+name, "host=web-1 pid=11")
	}
	p := open(t, path)
	ctx := tab(t)
	run(t, ctx, chromedp.Navigate(p.url))
	await(t, ctx, "#told", "live")
	await(t, ctx, "#sum", "3 locks")
	focused := func() string { return eval[string](t, ctx, `document.activeElement.textContent`) }
	run(t, ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	require.Equal(t, path+"/b", focused())
	require.NotEqual(t, "none", eval[string](t, ctx, `getComputedStyle(document.activeElement).outlineStyle`))
	queue(t, conn, path+"/aa", "host=web-2 pid=22") // above it
	await(t, ctx, "#sum", "4 locks")
	require.Equal(t, path+"/b", focused(), "it keeps the focus")
	press(t, ctx, "\r", "main h1", path+"/b")
	await(t, ctx, "#told", "live")
	press(t, ctx, "u", "#sum", "4 locks")
	await(t, ctx, "#told", "live")
	run(t, ctx, chromedp.KeyEvent("/"))
	require.Equal(t, "q", eval[string](t, ctx, "document.activeElement.id"))
}

func TestAStrangersMarkupIsText(t *testing.T) {
	prepare(t)
	conn := dial(t)
	path := place(t, conn)
	const evil = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`
	lock := path + "/" + strings.ReplaceAll(evil, "/", "\u2044")
	queue(t, conn, lock, "host="+strings.ReplaceAll(evil, " ", "\u00a0")+" pid=1 command="+url.PathEscape(evil))
	queue(t, conn, lock, "\x1b[2J\u202e"+evil)
	p := open(t, path)
	ctx := tab(t)
	run(t, ctx, chromedp.Navigate(p.url))
	await(t, ctx, "table.locks", "<img src=x onerror")
	run(t, ctx, chromedp.Click(chromedp.CSS("a.go")))
	await(t, ctx, "table.queue", `\x1b[2J\u202e<img src=x`)
	await(t, ctx, "#told", "live")
	require.Zero(t, eval[int](t, ctx, "window.hit || 0"))
	require.Zero(t, eval[int](t, ctx, `document.querySelectorAll("main img, main script").length`))
}

// axe returns axe-core, which npm has for this test alone, or which $AXE names.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("AXE")
	if path == "" {
		dir := t.TempDir()
		out, err := exec.Command("npm", "install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@"+axeVersion).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "\n*** %s is SKIPPED: npm cannot have axe-core: %v: %s\n\n", t.Name(), err, out)
			t.Skip("no axe-core")
		}
		path = filepath.Join(dir, "node_modules/axe-core/axe.min.js")
	}
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(source)
}

const axeVersion = "4.10.3"

func TestThePageIsAccessible(t *testing.T) {
	prepare(t)
	source := axe(t)
	conn := dial(t)
	path := place(t, conn)
	node := queue(t, conn, path+"/a", "host=web-1 pid=11 command=backup on_revoke=term")
	queue(t, conn, path+"/a", "__REVOKE__")
	_, err := conn.Create(path+"/a/n_0000000009", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = conn.Create(path+"/closed", nil, 0, zk.DigestACL(zk.PermAll, "some", "body"))
	require.NoError(t, err)
	p := open(t, path, "--allow", "revoke,break")
	ctx := tab(t)
	lock := url.Values{"path": {path + "/a"}}
	confirm := url.Values{"path": {path + "/a"}, "verb": {"break"}, "node": {node}}
	for _, at := range []string{"", "lock?" + lock.Encode(), "ensemble", "confirm?" + confirm.Encode(), "?q=nothing"} {
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1280, 360} {
				run(t, ctx, chromedp.EmulateViewport(width, 800), scheme(theme), chromedp.Navigate(p.url+at))
				if !strings.HasPrefix(at, "confirm") {
					await(t, ctx, "#told", "live")
				}
				require.LessOrEqual(t, eval[int64](t, ctx, "document.documentElement.scrollWidth"), width, "%s: it is wider than a screen of %d", at, width)
				eval[bool](t, ctx, source+";true")
				found := eval[string](t, ctx, `window.found = null; axe.run(document, {resultTypes: ["violations"]}).then(r => { window.found = r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.slice(0, 3).map(n => n.html).join(" | ")).join("\n") || "nothing" }); ""`)
				for late := time.Now().Add(patience); found == "" && time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
					found = eval[string](t, ctx, `window.found || ""`)
				}
				require.Equal(t, "nothing", found, "/%s, %s, %d wide", at, theme, width)
			}
		}
	}
}
