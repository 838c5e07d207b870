package apachezk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// KillSession ends the session of another client: it connects to the server
// at addr in that session's name and closes it. When it returns, the session's
// ephemeral nodes are gone. The other client loses its connection and hears
// that its session has expired as soon as it reconnects.
//
// ZooKeeper's session passwords are a function of the session id, so that no
// secret of the other client is needed.
func KillSession(ctx context.Context, addr string, sessionID int64) error {
	if err := killSession(ctx, addr, sessionID); err != nil {
		return fmt.Errorf("apachezk: kill session %#x at %s: %w", sessionID, addr, err)
	}
	return nil
}

func killSession(ctx context.Context, addr string, sessionID int64) error {
	for try := 0; ; try++ {
		s, err := openSession(ctx, addr, 10*time.Second, sessionID)
		if err == nil {
			err = orCause(ctx, s.close())
		}
		switch {
		case err == nil, try > 0 && errors.Is(err, errNoSession):
			return nil
		case !hungUp(err):
			return err
		}
	}
}

// hungUp reports whether the server ended the connection, as it does when the
// session's own client reconnects before the close has been read.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// sessionPassword is ZooKeeperServer.generatePasswd:
// new java.util.Random(id ^ 0xB3415C00L).nextBytes(new byte[16]).
func sessionPassword(id int64) [16]byte {
	const (
		superSecret = 0xB3415C00
		multiplier  = 0x5DEECE66D
		increment   = 0xB
		mask        = 1<<48 - 1
	)
	var password [16]byte
	state := (uint64(id^superSecret) ^ multiplier) & mask
	for i := 0; i < len(password); i += 4 {
		state = (state*multiplier + increment) & mask
		binary.LittleEndian.PutUint32(password[i:], uint32(state>>16))
	}
	return password
}
