package zklock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func BenchmarkReentry(b *testing.B) {
	server := zktest.NewServer(b)
	s, err := Connect(context.Background(), []string{server.Addr()}, 10*time.Second)
	require.NoError(b, err)
	defer s.Close()
	l, err := New(s, "/reentry")
	require.NoError(b, err)
	l.Lock()
	defer l.Unlock()
	b.ReportAllocs()
	for b.Loop() {
		l.Lock()
		l.Unlock() //lint:ignore SA2001 the pair is what is measured
	}
}
