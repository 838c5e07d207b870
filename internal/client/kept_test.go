package client

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOfEachTypeOneValueIsKeptUntilTheClientIsClosed(t *testing.T) {
	type counted struct{ made int }
	made := 0
	create := func() *counted { made++; return &counted{made} }
	c := unconnected(t, slog.New(slog.DiscardHandler))
	kept := Kept(c, create)
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() { assert.Same(t, kept, Kept(c, create)) })
	}
	calls.Wait()
	require.Equal(t, 1, made)
	require.NotSame(t, kept, Kept(unconnected(t, slog.New(slog.DiscardHandler)), create))
	Kept(c, func() *struct{ made int } { return new(struct{ made int }) })
	require.NoError(t, c.Close(0))
	require.NotSame(t, kept, Kept(c, create))
}
