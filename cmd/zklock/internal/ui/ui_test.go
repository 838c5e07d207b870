package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a page of a server in memory.
type bench struct {
	*page
	t      *testing.T
	server *zktest.Server
	conn   *zk.Conn // another client
	log    bytes.Buffer
	done   []Action
	fails  error
}

// newBench returns a page that may do what is said. It is called in a bubble.
func newBench(t *testing.T, allow ...string) *bench {
	t.Helper()
	b := &bench{t: t, server: zktest.NewServer(t)}
	link := new(Link)
	connect := func(options ...zklock.SessionOption) *zklock.Session {
		s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, append(options, zklock.WithDialer(b.server.Dial))...)
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	session := connect(zklock.WithSessionTrace(link.Trace()))
	b.conn = connect().Conn()
	ctx, cancel := context.WithCancel(t.Context())
	b.page = newPage(ctx, Options{
		Session: session, Link: link, Prefix: "/", Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Servers: []string{"zk1:2181"}, Dial: func(context.Context, string) (net.Conn, error) { return nil, errors.New("no way") },
		Flags: []string{"--servers", "zk1:2181"}, Allow: allow, Token: "secret",
		Act: func(_ context.Context, a Action) (string, error) {
			b.done = append(b.done, a)
			return "it is done", b.fails
		},
	})
	t.Cleanup(func() {
		cancel()
		b.hub.close()
	})
	return b
}

// create makes a node, and what is missing above it.
func (b *bench) create(path, data string, flags int32) string {
	b.t.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if _, err := b.conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != zk.ErrNodeExists {
				require.NoError(b.t, err)
			}
		}
	}
	node, err := b.conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	require.NoError(b.t, err)
	return node
}

// queue puts somebody into a lock's queue.
func (b *bench) queue(path, data string) string {
	return b.create(path+"/_c_one-lock-", data, zk.FlagEphemeral|zk.FlagSequence)
}

// ask asks the page for something, as its own script and forms do.
func (b *bench) ask(method, target string, form url.Values, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.t.Context(), method, "http://localhost:8421"+target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://localhost:8421")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie})
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	b.handler().ServeHTTP(w, r)
	return w
}

func (b *bench) shows(target string) string {
	b.t.Helper()
	w := b.ask("GET", target, nil)
	require.Equal(b.t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

// Whoever may create a node may write anything there.
func TestWhatStrangersHaveWrittenDoesNothing(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t, Revoke, Break)
		const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>` + "\u202e\u200b\ufeff"
		path := "/" + strings.ReplaceAll(evil, "/", "-")
		node := b.queue(path, "host="+strings.ReplaceAll(evil, " ", "\u00a0")+" pid=1 command="+url.PathEscape(evil+"\x1b[2J\x00\r\n"))
		b.queue(path, evil+"\x1b]0;\x07\x00\r\ndata: x\n\n")
		b.create(path+"/"+strings.ReplaceAll(evil, "/", "-")+"0000000003", evil, zk.FlagEphemeral)
		b.create("/secret", "", 0)
		lock := "/lock?" + url.Values{"path": {path}}.Encode()
		for _, target := range []string{
			"/", lock, lock + "&node=" + url.QueryEscape("<b>"), "/?q=" + url.QueryEscape(evil), "/ensemble",
			"/confirm?" + url.Values{"verb": {Break}, "path": {path}, "node": {node}}.Encode(),
		} {
			said := b.shows(target)
			part, err := b.part(viewOf(strings.Split(target, "?")[0], mustParse(target).Query()))
			require.NoError(t, err)
			require.NotContains(t, string(part), "\n", "it would end the event")
			var live struct{ Live string }
			require.NoError(t, json.Unmarshal(part, &live))
			for _, html := range []string{said, live.Live} {
				html = regexp.MustCompile(`"[^"<>]*"`).ReplaceAllString(html, `""`) // attributes
				require.NotContains(t, html, "<script>alert")
				require.NotContains(t, html, "<img")
				require.NotRegexp(t, `<[^>]*\son\w+=`, html, "an attribute that is a script")
				require.NotContains(t, html, "style=")
				for _, r := range html {
					require.True(t, r == '\n' || unicode.IsPrint(r), "%s shows %q", target, r)
				}
			}
		}
	})
}

// pass has time pass, and all that happens then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func mustParse(target string) *url.URL {
	u, err := url.Parse(target)
	if err != nil {
		panic(err)
	}
	return u
}

func TestACommandToCopyIsOneWordEach(t *testing.T) {
	for word, want := range map[string]string{
		"/locks/a-b_c.1": "/locks/a-b_c.1", "": "''", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$(reboot)": "'/$(reboot)'", "/ü": "'/ü'",
		"/a\nb": `$'/a\x0ab'`, "/\u202e'": `$'/\xe2\x80\xae\x27'`, "/\xff": `$'/\xff'`,
	} {
		require.Equal(t, want, quoted(word))
	}
	p := &page{Options: Options{Flags: []string{"--servers", "zk1,zk2/a b"}}}
	require.Equal(t, `zklock break --servers 'zk1,zk2/a b' '/it;reboot' --node _c_1-lock-0000000001`, p.command(Break, "/it;reboot", "_c_1-lock-0000000001"))
}

func TestNothingIsReadWhileNobodyLooks(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.queue("/lock", "host=a pid=1")
		asked := func() map[zktest.Op]int {
			all := b.server.Requests()
			delete(all, zktest.OpPing)
			return all
		}
		idle := asked()
		pass(time.Hour)
		require.Equal(t, idle, asked())
		require.Contains(t, b.shows("/"), "a pid 1")
		leave, other := b.hub.join(), b.hub.join()
		pass(time.Second)
		require.Equal(t, 2, b.server.Watches()["/"], "one for all, of data and children")
		leave()
		pass(2 * lingers)
		require.Equal(t, 2, b.server.Watches()["/"])
		other()
		pass(lingers + time.Second)
		require.Zero(t, b.server.Watches()["/"])
		idle = asked()
		pass(time.Hour)
		require.Equal(t, idle, asked())
	})
}

func TestALocksLastHourIsTold(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t)
		first := b.queue("/lock", "host=a pid=1 held="+time.Now().Add(-time.Minute).Format(time.RFC3339))
		leave := b.hub.join()
		pass(time.Second)
		second, third := b.queue("/lock", "host=b pid=2"), b.queue("/lock", "host=c pid=3")
		pass(10 * time.Second)
		require.NoError(t, b.conn.Delete(first, -1))
		pass(time.Second)
		b.hub.breaks(second, true)
		require.NoError(t, b.conn.Delete(second, -1))
		pass(time.Second)
		l := b.hub.locks["/lock"]
		require.Len(t, l.past, 3)
		require.Equal(t, "a pid 1", l.past[0].Who)
		require.Equal(t, endGone, l.past[0].End)
		require.WithinDuration(t, l.past[0].From.Add(72*time.Second), l.past[1].From, 2*time.Second)
		require.InDelta(t, 10, l.past[1].Waited.Seconds(), 1)
		require.Equal(t, endBroken, l.past[1].End)
		require.Zero(t, l.past[2].To)

		// What happens while nobody looks is not known.
		leave()
		pass(10 * time.Minute)
		require.NoError(t, b.conn.Delete(third, -1))
		pass(10 * time.Minute)
		leave = b.hub.join()
		pass(time.Second)
		require.Equal(t, endUnseen, l.past[2].End)
		s := stripOf(l.past, b.hub.looks, time.Now())
		require.Equal(t, remembered, s.Span)
		require.Len(t, s.Unseen, 2, "before anybody looked, and between")
		require.Len(t, s.Bars, 3)
		require.Equal(t, "×", s.Bars[1].Mark)
		require.Equal(t, "3 holds, 2 hand-overs, 1 known loss", s.Said)

		// So is what happens while there is no connection.
		fourth := b.queue("/lock", "host=d pid=4")
		pass(10 * time.Second)
		require.Equal(t, "d pid 4", l.past[3].Who)
		b.server.CutSession(b.Session.ID())
		b.server.Refuse(true)
		pass(2 * time.Second)
		require.NotZero(t, b.hub.looks[1].to)
		go func() { _ = b.conn.Delete(fourth, -1) }()
		pass(time.Second)
		b.server.Refuse(false)
		pass(3 * time.Second)
		require.Equal(t, endUnseen, l.past[3].End)
		require.Len(t, b.hub.looks, 3)
		pass(2 * time.Hour)
		b.queue("/other", "")
		pass(time.Second)
		require.NotContains(t, b.hub.locks, "/lock")
		leave()
	})
}

// A session that ends takes all its nodes at once.
func TestAHoldIsToldLostWhoseSessionsNodesHaveGoneTogether(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t)
		dying, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, zklock.WithDialer(b.server.Dial))
		require.NoError(t, err)
		for _, path := range []string{"/one", "/two"} {
			l, err := zklock.New(dying, path)
			require.NoError(t, err)
			_, err = l.Acquire(t.Context())
			require.NoError(t, err)
		}
		leave := b.hub.join()
		defer leave()
		pass(time.Second)
		dying.Close()
		pass(time.Second)
		require.Equal(t, endSession, b.hub.locks["/one"].past[0].End)
	})
}

func TestAnActionTakesTheTokenTheNodesNameAndOurOwnForm(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t, Break)
		node := b.queue("/lock", "host=a pid=1")
		require.Contains(t, b.shows("/lock?path=/lock"), "/confirm?")
		form := b.shows("/confirm?" + url.Values{"verb": {Break}, "path": {"/lock"}, "node": {node}}.Encode())
		require.Contains(t, form, "both may act")
		stat := regexp.MustCompile(`name="czxid" value="(\d+)"`).FindStringSubmatch(form)
		good := func() url.Values {
			return url.Values{"verb": {Break}, "path": {"/lock"}, "node": {node}, "czxid": {stat[1]}, "held": {"true"}, "token": {"secret"}, "typed": {node[len("/lock/"):]}}
		}
		with := func(key, value string) url.Values {
			v := good()
			v.Set(key, value)
			return v
		}
		header := func(key, value string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set(key, value) }
		}
		for what, w := range map[string]*httptest.ResponseRecorder{
			"a verb that is not allowed": b.ask("POST", "/act", with("verb", Revoke)),
			"no token":                   b.ask("POST", "/act", with("token", "")),
			"another token":              b.ask("POST", "/act", with("token", "secrets")),
			"another name":               b.ask("POST", "/act", with("typed", "lock")),
			"another site":               b.ask("POST", "/act", good(), header("Origin", "http://evil.example")),
			"no origin":                  b.ask("POST", "/act", good(), header("Origin", "")),
			"a sandbox":                  b.ask("POST", "/act", good(), header("Origin", "null")),
			"a fetch from elsewhere":     b.ask("POST", "/act", good(), header("Sec-Fetch-Site", "cross-site")),
			"a neighbour":                b.ask("POST", "/act", good(), header("Sec-Fetch-Site", "same-site")),
			"no cookie":                  b.ask("POST", "/act", good(), func(r *http.Request) { r.Header.Del("Cookie") }),
			"a link":                     b.ask("GET", "/act?"+good().Encode(), nil),
			"a name that leads here":     b.ask("POST", "/act", good(), func(r *http.Request) { r.Host = "evil.example:8421" }),
		} {
			require.GreaterOrEqual(t, w.Code, 400, what)
			require.Empty(t, b.done, what)
		}
		require.Contains(t, b.log.String(), "wrong token")
		w := b.ask("POST", "/act", good())
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), "it is done")
		require.Len(t, b.done, 1)
		require.Equal(t, Action{Break, "/lock", node, b.done[0].Token, true}, b.done[0])
		require.Equal(t, stat[1], fmt.Sprint(b.done[0].Token))
		require.Regexp(t, `an action was done.* from=\S+ verb=break path=/lock node=`+node, b.log.String())
		b.fails = errors.New("nothing was deleted: it is not as it was shown")
		require.Contains(t, b.ask("POST", "/act", good()).Body.String(), "not as it was shown")
		require.Empty(t, b.hub.broken)
	})
}

func TestAnActionIsForWhatIsAtAndBelowThePathOfThePageOnly(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t, Break)
		for prefix, shows := range map[string]map[string]bool{
			"/":       {"/inside": true, "/inside/lock": true},
			"/inside": {"/inside": true, "/inside/lock": true, "/inside2": false, "/outside": false, "/": false, "": false},
		} {
			b.page.Prefix = prefix
			for path, done := range shows {
				b.done = nil
				w := b.ask("POST", "/act", url.Values{"verb": {Break}, "path": {path}, "node": {path + "/n"}, "token": {"secret"}, "typed": {"n"}})
				require.Equal(t, done, len(b.done) == 1, "%s on a page of %s", path, prefix)
				require.Equal(t, done, w.Code == http.StatusOK)
			}
		}
		require.Regexp(t, "an action was refused.* why=\"this page shows what is at and below /inside only", b.log.String())
	})
}

func TestAPageOnlyShowsUnlessItMayDoMore(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t)
		node := b.queue("/lock", "host=a pid=1")
		said := b.shows("/lock?path=/lock")
		require.NotContains(t, said, "/confirm?")
		require.Contains(t, said, "zklock break --servers zk1:2181 /lock --node "+node[len("/lock/"):])
		require.Equal(t, http.StatusForbidden, b.ask("GET", "/confirm?"+url.Values{"verb": {Break}, "path": {"/lock"}, "node": {node}}.Encode(), nil).Code)
		require.Equal(t, http.StatusMisdirectedRequest, b.ask("GET", "/", nil, func(r *http.Request) { r.Host = "evil.example:8421" }).Code)
		w := b.ask("GET", "/", nil)
		require.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
		require.Contains(t, w.Header().Get("Set-Cookie"), "HttpOnly; SameSite=Strict")
		require.Equal(t, http.StatusForbidden, b.ask("GET", "/events?at=/", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }).Code)
	})
}

func TestWhatIsNotAsUsualIsNamed(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.create("/foreign/n_0000000003", "", zk.FlagEphemeral)
		b.create("/stuck/x-lock-0000000003", "", 0)
		_, err := b.conn.Create("/closed", nil, 0, zk.DigestACL(zk.PermAll, "some", "body"))
		require.NoError(t, err)
		s := b.shows("/")
		require.Contains(t, s, "another library&#39;s node")
		require.Contains(t, s, "persistent node")
		require.Contains(t, s, "<b>1 path</b> may not be read")
		require.Contains(t, s, "/closed")
		require.Contains(t, b.shows("/lock?path=/stuck"), "persistent: it goes with no session")
		require.Contains(t, b.shows("/lock?path=/none"), "○ free")
		b.server.Refuse(true)
		b.server.Cut()
		synctest.Wait()
		require.Contains(t, b.shows("/"), "Not connected</b> since")
		b.server.Refuse(false)
		pass(5 * time.Second)
		require.Contains(t, b.shows("/"), "Connected to")
	})
}

func TestRowsAreChosenSortedAndPaged(t *testing.T) {
	now := time.Now()
	var rows []*row
	for i := range 10000 {
		l := &lock{path: fmt.Sprintf("/locks/%05d", i)}
		l.update(zklock.KeyedLock{Path: l.path, Contenders: []zklock.Contender{
			{Node: l.path + "/a", Held: true, Session: 7, Data: fmt.Appendf(nil, "host=h%d pid=%d", i%10, i), Created: now.Add(-time.Duration(i%977) * time.Second)},
			{Node: l.path + "/b", Revoked: i%5000 == 1},
		}[:1+i%2]}, now, nil)
		rows = append(rows, &l.row)
	}
	choose := func(address string) []*row {
		return queryOf("list", mustParse(address).Query()).choose(append([]*row(nil), rows...))
	}
	begun := time.Now()
	require.Len(t, choose("/?q=H7+/locks"), 1000)
	require.Len(t, choose("/?only=waiting"), 5000)
	require.Len(t, choose("/?only=asked"), 2)
	require.Equal(t, "/locks/09999", choose("/?sort=path&dir=desc")[0].Path)
	require.Equal(t, "/locks/00976", choose("/?sort=held&dir=desc")[0].Path)
	require.Equal(t, "/locks/00001", choose("/?sort=waiting&dir=desc")[0].Path)
	require.Less(t, time.Since(begun), 10*time.Second)
	q := queryOf("list", mustParse("/?sort=nothing&page=3&q=a+b").Query())
	require.Equal(t, "/?page=3&q=a+b", q.address())
	require.Equal(t, "/?dir=desc&q=a+b&sort=waiting", q.by("waiting").address())
	require.Equal(t, "/?q=a+b&sort=waiting", q.by("waiting").by("waiting").address())
	require.Equal(t, pages{3, 100, 201, 300, 10000, "/?page=2&q=a+b", "/?page=4&q=a+b"}, q.window(10000))
	require.Equal(t, pages{Page: 1, Last: 1, From: 1, To: 0}, q.window(0))
	require.Equal(t, pages{Page: 1, Last: 1, From: 1, To: 5, N: 5}, q.window(5))
}

func TestAServerIsAskedForItsRole(t *testing.T) {
	answers := map[string]string{
		"leader": "Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on x\nOutstanding: 2\nZxid: 0x100\nMode: leader\nConnections: 7\n",
		"closed": "srvr is not executed because it is not in the whitelist.\n",
	}
	for name, answer := range answers {
		dial := func(context.Context, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				_, _ = theirs.Read(make([]byte, 4))
				_, _ = theirs.Write([]byte(answer))
			}()
			return ours, nil
		}
		s := (&ensemble{dial: dial}).ask(t.Context(), "zk1:2181")
		if name == "closed" {
			require.Contains(t, s.Why, "4lw.commands.whitelist")
			continue
		}
		require.Equal(t, "leader", s.Role)
		require.Equal(t, "3.8.0", s.Version)
		require.Equal(t, "2", s.Waiting)
		require.Positive(t, s.RoundTrip)
		require.Empty(t, s.Why)
	}
}
