package ui_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
)

var (
	shots   = flag.String("shots", "", "write pictures of the main views into this directory")
	servers = flag.Int("servers", 1, "how many servers the ensemble has")
)

// TestShots writes the pictures of the docs: make ui-shots.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("make ui-shots does it")
	}
	prepare(t)
	s := newScene(t)
	p := open(t, "/prod", "--allow", "revoke,break")
	s.begin()
	desk, phone := tab(t), tab(t)
	wide := []step{chromedp.EmulateViewport(1240, 560, chromedp.EmulateScale(1)), scheme("light")}
	narrow := []step{chromedp.EmulateViewport(390, 780, chromedp.EmulateScale(2), chromedp.EmulateMobile), scheme("dark")}
	run(t, desk, append(wide, chromedp.Navigate(p.url))...)
	await(t, desk, "#sum", "locks in use")
	s.goOn()
	await(t, desk, "#told", "live")
	shot(t, desk, "ui-locks.png")
	lock := p.url + "lock?path=" + url.QueryEscape("/prod/locks/ledger")
	run(t, desk, chromedp.EmulateViewport(1240, 800), chromedp.Navigate(lock))
	await(t, desk, "#told", "live")
	shot(t, desk, "ui-lock.png")
	run(t, desk, chromedp.EmulateViewport(1240, 300), scheme("dark"), chromedp.Navigate(p.url+"ensemble"))
	await(t, desk, "table.servers", "leader")
	await(t, desk, "#told", "live")
	shot(t, desk, "ui-ensemble.png")
	run(t, phone, append(narrow, chromedp.Navigate(p.url))...)
	await(t, phone, "#told", "live")
	shot(t, phone, "ui-phone.png")
}

func scheme(name string) step {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, media)
		return err
	})
}

// scene is an ensemble in use, as it may be somewhere.
type scene struct {
	t     *testing.T
	conn  *zk.Conn
	hosts map[string]*zk.Conn
	nodes map[string][]string
	n     int
}

func newScene(t *testing.T) *scene {
	return &scene{t: t, conn: dial(t), hosts: make(map[string]*zk.Conn), nodes: make(map[string][]string)}
}

// add puts somebody into a queue.
func (s *scene) add(path, host string, pid int, more string, ago time.Duration) {
	s.n++
	dir := path
	for i := 1; i <= len(dir); i++ {
		if i == len(dir) || dir[i] == '/' {
			_, err := s.conn.Create(dir[:i], nil, 0, zk.WorldACL(zk.PermAll))
			if err != zk.ErrNodeExists {
				require.NoError(s.t, err)
			}
		}
	}
	data := fmt.Sprintf("host=%s pid=%d start=%s%s", host, pid, time.Now().Add(-ago).Format(time.RFC3339), more)
	name := fmt.Sprintf("_c_%08x-4b6e-4c53-8d0a-%012x-lock-", 0x5eed0000+s.n*7919, s.n*1046527)
	if s.hosts[host] == nil {
		s.hosts[host] = dial(s.t)
	}
	node, err := s.hosts[host].Create(path+"/"+name, []byte(data), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	require.NoError(s.t, err)
	s.nodes[path] = append(s.nodes[path], node)
}

func held(ago time.Duration) string {
	return " held=" + time.Now().Add(-ago).Format("2006-01-02T15:04:05.000Z07:00")
}

// next has the holder of a lock give it back.
func (s *scene) next(path string) {
	require.NoError(s.t, s.conn.Delete(s.nodes[path][0], -1))
	s.nodes[path] = s.nodes[path][1:]
}

func (s *scene) begin() {
	for i, name := range []string{"billing-close", "certs", "dns-sync", "invoice-run", "metrics-rollup", "reindex", "retention", "vacuum"} {
		ago := time.Duration(i*i*97+11) * time.Second
		s.add("/prod/jobs/"+name, fmt.Sprintf("worker-%02d", i%4+1), 4100+i*317, " command="+name+" on_revoke=term"+held(ago), ago+time.Minute)
		for w := range []int{0, 1, 0, 3, 0, 1, 0, 2}[i] {
			s.add("/prod/jobs/"+name, fmt.Sprintf("worker-%02d", w+5), 900+w, "", ago)
		}
	}
	s.add("/prod/locks/ledger", "db-1.eu", 29106, " command=pg_dump on_revoke=ignore"+held(52*time.Minute), 52*time.Minute)
	for i := range 9 {
		s.add("/prod/locks/ledger", fmt.Sprintf("db-%d.eu", i%5+1), 8100+i*13, " command=post-entries on_revoke=term", time.Duration(i)*time.Minute)
	}
	s.add("/prod/locks/migrations", "deploy-7", 118, " command=goose on_revoke=term"+held(14*time.Second), 20*time.Second)
	_, err := s.conn.Create("/prod/locks/legacy", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(s.t, err)
	_, err = s.conn.Create("/prod/locks/legacy/n_0000000003", []byte("lock of an older tool"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(s.t, err)
	_, err = s.conn.Create("/prod/secret", nil, 0, zk.DigestACL(zk.PermAll, "some", "body"))
	require.NoError(s.t, err)
}

// goOn has things change while somebody looks.
func (s *scene) goOn() {
	for i := range 5 {
		time.Sleep([]time.Duration{9, 4, 13, 6, 11}[i] * time.Second)
		s.next("/prod/locks/ledger")
		node := s.nodes["/prod/locks/ledger"][0]
		data, _, err := s.conn.Get(node)
		require.NoError(s.t, err)
		_, err = s.conn.Set(node, append(data, held(0)...), -1)
		require.NoError(s.t, err)
		s.add("/prod/locks/ledger", fmt.Sprintf("db-%d.eu", i%5+1), 9100+i, " command=post-entries on_revoke=term", 0)
	}
	node := s.nodes["/prod/jobs/invoice-run"][0]
	data, _, err := s.conn.Get(node)
	require.NoError(s.t, err)
	_, err = s.conn.Set(node, recipe.Revoked(data), -1)
	require.NoError(s.t, err)
	time.Sleep(time.Second)
}

func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*shots, name), smaller(t, picture), 0o644))
}

// smaller packs a picture with its most frequent colours.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	decoded, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	uses := make(map[color.Color]int)
	each := func(do func(x, y int, c color.Color)) {
		for y := range decoded.Bounds().Dy() {
			for x := range decoded.Bounds().Dx() {
				do(x, y, coarse(decoded.At(x, y)))
			}
		}
	}
	each(func(_, _ int, c color.Color) { uses[c]++ })
	colours := slices.SortedFunc(maps.Keys(uses), func(a, b color.Color) int { return uses[b] - uses[a] })
	packed := image.NewPaletted(decoded.Bounds(), colours[:min(len(colours), 256)])
	nearest := make(map[color.Color]uint8)
	each(func(x, y int, c color.Color) {
		i, known := nearest[c]
		if !known {
			i = uint8(packed.Palette.Index(c))
			nearest[c] = i
		}
		packed.SetColorIndex(x, y, i)
	})
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, packed))
	return b.Bytes()
}

// coarse is a colour that the eye hardly tells from c.
func coarse(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	near := func(v uint32) uint8 { return uint8(min(((v>>8)+1)/3*3, 255)) }
	return color.RGBA{near(r), near(g), near(b), 255}
}
