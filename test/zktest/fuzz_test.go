package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// FuzzFrames sends whatever a broken client may send, before and after the handshake. The server answers or hangs up,
// and goes on serving others.
func FuzzFrames(f *testing.F) {
	for _, op := range []int32{1, 3, 9, 14, 22, 101, 105, 100, -11} {
		f.Add([]byte(packet{}.int32(1).int32(op)))
		f.Add([]byte(packet{}.int32(1).int32(op).string("/a").int32(-1).int32(1 << 30)))
	}
	f.Add([]byte(append(packet{}.int32(1).int32(14), rawMulti(1, create("/a", 2), 13, packet{}.string("/a").int32(0))...)))
	f.Add([]byte(packet{}.int32(0).int64(1 << 62).int32(-1).int64(-1).string("password")))
	f.Fuzz(func(t *testing.T, frame []byte) {
		s, err := zktest.Start()
		require.NoError(t, err)
		defer s.Close()
		for _, shaken := range []bool{false, true} {
			w := &wire{}
			if shaken {
				w = at(t, s)
			} else {
				w.nc, err = s.Dial("", "", time.Second)
				require.NoError(t, err)
			}
			w.nc.SetWriteDeadline(time.Now().Add(time.Second))
			for _, body := range []packet{frame, packet{}.int32(-2).int32(opPing)} {
				w.nc.Write(append(packet{}.int32(int32(len(body))), body...)) // in vain, if the server has hung up
			}
			w.nc.Close()
		}
		require.True(t, exists(t, at(t, s), "/"))
	})
}
