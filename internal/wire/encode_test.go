package wire

import (
	"bufio"
	"encoding/binary"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
)

// goZookeeper returns a client of go-zookeeper's whose requests are all refused, by the code that is
// returned then, and their frames.
func goZookeeper(t *testing.T, code func() int32) (*zk.Conn, <-chan []byte) {
	t.Helper()
	ours, theirs := net.Pipe()
	asked := make(chan []byte, 1)
	go func() {
		in, greeting := bufio.NewReader(theirs), hello(1)
		for {
			length, err := in.Peek(4)
			if err != nil {
				return
			}
			frame, err := readFrame(in, int(binary.BigEndian.Uint32(length)), nil)
			if err != nil {
				return
			}
			answer := greeting
			if answer == nil {
				asked <- frame
				answer = framed(frame[4:8], long(1), number(code()))
			}
			greeting = nil
			_, _ = theirs.Write(answer)
		}
	}()
	dial := func(string, string, time.Duration) (net.Conn, error) { return ours, nil }
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, time.Hour, zk.WithDialer(dial), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		theirs.Close()
	})
	return conn, asked
}

func TestARequestIsWrittenAsGoZookeeperWritesIt(t *testing.T) {
	acl := []zk.ACL{{Perms: zk.PermAll, Scheme: "world", ID: "anyone"}, {Perms: zk.PermRead, Scheme: "digest", ID: "a:b"}}
	create := Op{Code: OpCreate, Path: "/lock/n-", Data: []byte("data"), ACL: acl, Flags: zk.FlagEphemeralSequential}
	one := func(op Op) *Request { return NewRequest(op) }
	for name, tc := range map[string]struct {
		ours   *Request
		theirs func(*zk.Conn)
	}{
		"create": {one(create), func(c *zk.Conn) { _, _ = c.Create("/lock/n-", []byte("data"), zk.FlagEphemeralSequential, acl) }},
		"create without data, for nobody": {
			one(Op{Code: OpCreate, Path: "/a", ACL: []zk.ACL{}}),
			func(c *zk.Conn) { _, _ = c.Create("/a", nil, 0, []zk.ACL{}) },
		},
		"delete":               {one(Op{Code: OpDelete, Path: "/a", Version: 3}), func(c *zk.Conn) { _ = c.Delete("/a", 3) }},
		"delete any version":   {one(Op{Code: OpDelete, Path: "/a", Version: -1}), func(c *zk.Conn) { _ = c.Delete("/a", -1) }},
		"exists":               {one(Op{Code: OpExists, Path: "/a"}), func(c *zk.Conn) { _, _, _ = c.Exists("/a") }},
		"exists, watched":      {one(Op{Code: OpExists, Path: "/ä", Watch: true}), func(c *zk.Conn) { _, _, _, _ = c.ExistsW("/ä") }},
		"the data":             {one(Op{Code: OpGetData, Path: "/a"}), func(c *zk.Conn) { _, _, _ = c.Get("/a") }},
		"the data, watched":    {one(Op{Code: OpGetData, Path: "/a", Watch: true}), func(c *zk.Conn) { _, _, _, _ = c.GetW("/a") }},
		"its children":         {one(Op{Code: OpGetChildren2, Path: "/"}), func(c *zk.Conn) { _, _, _ = c.Children("/") }},
		"its children watched": {one(Op{Code: OpGetChildren2, Path: "/", Watch: true}), func(c *zk.Conn) { _, _, _, _ = c.ChildrenW("/") }},
		"its access list":      {one(Op{Code: OpGetACL, Path: "/a"}), func(c *zk.Conn) { _, _, _ = c.GetACL("/a") }},
		"set":                  {one(Op{Code: OpSetData, Path: "/a", Data: []byte{}, Version: 7}), func(c *zk.Conn) { _, _ = c.Set("/a", []byte{}, 7) }},
		"set no data":          {one(Op{Code: OpSetData, Path: "/a", Version: -1}), func(c *zk.Conn) { _, _ = c.Set("/a", nil, -1) }},
		"sync":                 {one(Op{Code: OpSync, Path: "/a"}), func(c *zk.Conn) { _, _ = c.Sync("/a") }},
		"transaction": {
			NewTransaction(create, Op{Code: OpSetData, Path: "/a", Data: []byte("b"), Version: 1}, Op{Code: OpCheck, Path: "/b", Version: -1}, Op{Code: OpDelete, Path: "/c", Version: 2}),
			func(c *zk.Conn) {
				_, _ = c.Multi(
					&zk.CreateRequest{Path: "/lock/n-", Data: []byte("data"), Acl: acl, Flags: zk.FlagEphemeralSequential},
					&zk.SetDataRequest{Path: "/a", Data: []byte("b"), Version: 1},
					&zk.CheckVersionRequest{Path: "/b", Version: -1}, &zk.DeleteRequest{Path: "/c", Version: 2})
			},
		},
		"a transaction of one": {
			NewTransaction(Op{Code: OpCheck, Path: "/b", Version: -1}),
			func(c *zk.Conn) { _, _ = c.Multi(&zk.CheckVersionRequest{Path: "/b", Version: -1}) },
		},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			conn, asked := goZookeeper(t, func() int32 { return noNode })
			tc.theirs(conn)
			want := <-asked
			l := plugged(t, lively()).greeted(1, ms)
			l.Send(tc.ours)
			synctest.Wait()
			got := <-l.got
			require.Equal(t, number(firstXid), got[4:8])
			require.Equal(t, want, slices.Concat(got[:4], want[4:8], got[8:]), "but for its xid")
			require.Equal(t, len(want)-4, tc.ours.Size())
		})
	}
}

// go-zookeeper's names watches of other kinds too.
func TestARequestToSetWatchesAgainNamesNodesOfWhichTheDataIsWatched(t *testing.T) {
	r := NewRequest(SetWatches(7, []string{"/a", "/ä"}))
	want := framed(number(9), number(OpSetWatches), long(7), number(2), text("/a"), text("/ä"), number(0), number(0))
	require.Equal(t, want, r.append(nil, 9))
	require.Equal(t, len(want)-4, r.Size())
}
