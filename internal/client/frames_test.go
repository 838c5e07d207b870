package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestAServerHangsUpIfItWasNeitherSilentNorCutOff(t *testing.T) {
	for _, err := range []error{io.EOF, errors.New("reset by peer"), zk.ErrConnectionClosed, &net.OpError{Err: errors.New("reset")}} {
		require.True(t, hungUp(err), "%v", err)
	}
	for _, err := range []error{net.ErrClosed, os.ErrDeadlineExceeded, &net.OpError{Err: os.ErrDeadlineExceeded}, fmt.Errorf("wrapped: %w", net.ErrClosed)} {
		require.False(t, hungUp(err), "%v", err)
	}
}
