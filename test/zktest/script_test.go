package zktest_test

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// script plays one conformance case against one server and writes down what it answers, in a form that is the same for
// two servers that behave the same: paths without the case's own root, zxids by rank, sessions by order of appearance.
type script struct {
	t     testing.TB
	dial  zk.Dialer
	addr  string
	root  string
	conns []*zk.Conn
	wires []*wire
	lines []string
}

const (
	sessionTimeout = 20 * time.Second // raw sessions do not ping

	// patience is how long a case waits for what has to happen; only a failing one waits that long.
	patience = time.Minute
)

// play runs a case in a tree of its own and returns what was written down.
func play(t testing.TB, dial zk.Dialer, addr, root string, run func(s *script)) string {
	s := &script{t: t, dial: dial, addr: addr, root: root}
	c := s.zk(0)
	_, err := c.Create(root, nil, 0, open)
	require.NoError(t, err)
	run(s)
	for _, w := range s.wires {
		if w != nil {
			w.nc.Close()
		}
	}
	for _, c := range slices.Backward(s.conns) {
		if c != nil {
			c.Close()
		}
	}
	return s.normal()
}

// zk returns the n-th session, connecting it when it is first asked for.
func (s *script) zk(n int) *zk.Conn {
	for len(s.conns) <= n {
		s.conns = append(s.conns, nil)
	}
	if s.conns[n] == nil {
		s.conns[n] = connectFor(s.t, sessionTimeout, s.dial, s.addr)
	}
	return s.conns[n]
}

// wire returns the n-th raw session.
func (s *script) wire(n int) *wire {
	for len(s.wires) <= n {
		s.wires = append(s.wires, nil)
	}
	if s.wires[n] == nil {
		s.wires[n] = dialWire(s.t, s.dial, s.addr, sessionTimeout, nil)
	}
	return s.wires[n]
}

func (s *script) at(path string) string {
	if strings.HasPrefix(path, "//") {
		return path[1:] // outside of the case's tree
	}
	return s.root + path
}

func (s *script) note(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case *zk.Stat:
			args[i] = statLine(a)
		case error:
			args[i] = strings.TrimPrefix(a.Error(), "zk: ")
		}
	}
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func statLine(s *zk.Stat) string {
	if s == nil || *s == (zk.Stat{}) {
		return "no stat"
	}
	return fmt.Sprintf("c=z(%d) m=z(%d) p=z(%d) v=%d cv=%d av=%d owner=o(%d) len=%d kids=%d touched=%t",
		s.Czxid, s.Mzxid, s.Pzxid, s.Version, s.Cversion, s.Aversion, s.EphemeralOwner, s.DataLength, s.NumChildren,
		s.Mtime > s.Ctime)
}

var (
	zxidMark  = regexp.MustCompile(`z\((\d+)\)`)
	ownerMark = regexp.MustCompile(`o\((\d+)\)`)
)

func (s *script) normal() string {
	text := strings.ReplaceAll(strings.Join(s.lines, "\n"), s.root, "")
	text = strings.ReplaceAll(text, " touched=true", "")
	text = strings.ReplaceAll(text, " touched=false", "")
	var zxids []int64
	for _, m := range zxidMark.FindAllStringSubmatch(text, -1) {
		zxid, _ := strconv.ParseInt(m[1], 10, 64)
		zxids = append(zxids, zxid)
	}
	slices.Sort(zxids)
	zxids = slices.Compact(zxids)
	text = zxidMark.ReplaceAllStringFunc(text, func(m string) string {
		zxid, _ := strconv.ParseInt(m[2:len(m)-1], 10, 64)
		return fmt.Sprintf("z%d", slices.Index(zxids, zxid))
	})
	owners := []string{"0"}
	return ownerMark.ReplaceAllStringFunc(text, func(m string) string {
		id := m[2 : len(m)-1]
		if !slices.Contains(owners, id) {
			owners = append(owners, id)
		}
		return fmt.Sprintf("s%d", slices.Index(owners, id))
	})
}

// The operations of a script, by session 0 unless they say otherwise.

func (s *script) create(path string, flags int32) string { return s.createBy(0, path, "", flags, open) }

func (s *script) createBy(n int, path, data string, flags int32, acl []zk.ACL) string {
	got, err := s.zk(n).Create(s.at(path), []byte(data), flags, acl)
	s.note("create %s %d: %s %v", path, flags, got, err)
	return got
}

func (s *script) container(path string) {
	got, err := s.zk(0).CreateContainer(s.at(path), nil, zk.FlagContainer, open)
	s.note("container %s: %s %v", path, got, err)
}

func (s *script) delete(path string, version int32) { s.deleteBy(0, path, version) }

func (s *script) deleteBy(n int, path string, version int32) {
	s.note("delete %s %d: %v", path, version, s.zk(n).Delete(s.at(path), version))
}

func (s *script) set(path, data string, version int32) { s.setBy(0, path, data, version) }

func (s *script) setBy(n int, path, data string, version int32) {
	stat, err := s.zk(n).Set(s.at(path), []byte(data), version)
	s.note("set %s %d: %v %v", path, version, stat, err)
}

func (s *script) get(path string) { s.getBy(0, path) }

func (s *script) getBy(n int, path string) {
	data, stat, err := s.zk(n).Get(s.at(path))
	s.note("get %s: %q %v %v", path, data, stat, err)
}

func (s *script) exists(path string) {
	found, stat, err := s.zk(0).Exists(s.at(path))
	s.note("exists %s: %t %v %v", path, found, stat, err)
}

func (s *script) children(path string) { s.childrenBy(0, path) }

func (s *script) childrenBy(n int, path string) {
	names, stat, err := s.zk(n).Children(s.at(path))
	slices.Sort(names)
	s.note("children %s: %v %v %v", path, names, stat, err)
}

func (s *script) getACL(path string) { s.getACLBy(0, path) }

func (s *script) getACLBy(n int, path string) {
	acl, stat, err := s.zk(n).GetACL(s.at(path))
	slices.SortFunc(acl, func(a, b zk.ACL) int { return strings.Compare(a.ID, b.ID) }) // auth expands in the order of a set
	s.note("getACL %s: %v %v %v", path, acl, stat, err)
}

func (s *script) setACL(path string, acl []zk.ACL, version int32) { s.setACLBy(0, path, acl, version) }

func (s *script) setACLBy(n int, path string, acl []zk.ACL, version int32) {
	stat, err := s.zk(n).SetACL(s.at(path), acl, version)
	s.note("setACL %s %d: %v %v", path, version, stat, err)
}

func (s *script) sync(path string) {
	got, err := s.zk(0).Sync(s.at(path))
	s.note("sync %s: %s %v", path, got, err)
}

func (s *script) multi(ops ...any) {
	results, err := s.zk(0).Multi(ops...)
	s.note("multi of %d: %v", len(ops), err)
	for _, r := range results {
		s.note("  %q %v %v", r.String, r.Stat, r.Error)
	}
}

// event notes the next event of a watch; every case waits only for events that must come.
func (s *script) event(what string, events <-chan zk.Event) {
	select {
	case e := <-events:
		s.note("event %s: %v %s", what, e.Type, e.Path)
	case <-time.After(patience):
		s.t.Errorf("no event: %s", what)
	}
}

// quiet notes whether a watch has fired. The sync before it sees to it that an event on its way has arrived.
func (s *script) quiet(n int, what string, events <-chan zk.Event) {
	_, err := s.zk(n).Sync("/")
	require.NoError(s.t, err)
	select {
	case e := <-events:
		s.note("event %s: %v %s", what, e.Type, e.Path)
	default:
		s.note("no event %s", what)
	}
}

// raw notes the answer to a request of a raw session; show adds what it makes of the body.
func (s *script) raw(n int, op int32, body packet, show ...func(*reply) string) reply {
	s.t.Helper()
	s.wire(n).send(s.t, op, body)
	return s.frame(n, fmt.Sprintf("op %d", op), show...)
}

// frame notes the next frame of a raw session.
func (s *script) frame(n int, what string, show ...func(*reply) string) reply {
	s.t.Helper()
	w := s.wire(n)
	w.nc.SetReadDeadline(time.Now().Add(patience))
	r, err := w.next()
	if err != nil {
		var timeout net.Error
		require.False(s.t, errors.As(err, &timeout) && timeout.Timeout(), "%s: no answer", what)
		s.note("%s: hung up", what)
		return r
	}
	text := fmt.Sprintf("%d bytes", len(r.body))
	for _, fn := range show {
		if len(r.body) > 0 {
			text += " " + fn(&r)
		}
	}
	if r.xid == -1 {
		text += fmt.Sprintf(", by z(%d)", r.zxid)
	}
	s.note("%s: event %t code %d, %s", what, r.xid == -1, r.code, text)
	return r
}

func asString(r *reply) string { return r.string() }
func asInt(r *reply) string    { return strconv.Itoa(int(r.int32())) }
