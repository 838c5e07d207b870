package apachezk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/zklock/zklock/internal/protocol"
)

// errNoSession is the server's refusal of a session, for it is over or the
// password is wrong.
var errNoSession = errors.New("session unknown to the server")

// session is the client's end of a connection with a ZooKeeper session: just
// enough of the protocol for a probe.
type session struct {
	conn   net.Conn
	detach func() bool // from the context of openSession
	xid    int32
}

type connectRequest struct {
	ProtocolVersion int32
	LastZxidSeen    int64
	TimeOut         int32
	SessionID       int64
	PasswordLength  int32
	Password        [16]byte
	ReadOnly        bool
}

type connectResponse struct {
	ProtocolVersion int32
	TimeOut         int32
	SessionID       int64
}

// openSession connects to addr and opens a session there, or resumes the
// session id if that is not zero. The end of ctx breaks the connection.
func openSession(ctx context.Context, addr string, timeout time.Duration, id int64) (*session, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, detach: context.AfterFunc(ctx, func() { conn.Close() })}
	if err := s.handshake(timeout, id); err != nil {
		s.disconnect()
		return nil, orCause(ctx, err)
	}
	return s, nil
}

func (s *session) disconnect() {
	s.detach()
	s.conn.Close()
}

// close ends the session, and with it the connection.
func (s *session) close() error {
	defer s.disconnect()
	return s.request(protocol.OpCloseSession)
}

// sync waits until the server has caught up with its leader.
func (s *session) sync() error {
	const path = "/"
	return s.request(protocol.OpSync, int32(len(path)), []byte(path))
}

func (s *session) handshake(timeout time.Duration, id int64) error {
	request := connectRequest{TimeOut: int32(timeout.Milliseconds()), SessionID: id, PasswordLength: 16}
	if id != 0 {
		request.Password = sessionPassword(id)
	}
	if err := s.send(request); err != nil {
		return err
	}
	reply, err := s.receive()
	if err != nil {
		return err
	}
	var response connectResponse
	if err := binary.Read(bytes.NewReader(reply), binary.BigEndian, &response); err != nil {
		return fmt.Errorf("connect response: %w", err)
	}
	if response.TimeOut <= 0 {
		return errNoSession
	}
	return nil
}

// request sends one operation and waits for its reply.
func (s *session) request(op int32, body ...any) error {
	s.xid++
	if err := s.send(append([]any{s.xid, op}, body...)...); err != nil {
		return err
	}
	for {
		reply, err := s.receive()
		if err != nil {
			return err
		}
		var header struct {
			Xid  int32
			Zxid int64
			Err  int32
		}
		if err := binary.Read(bytes.NewReader(reply), binary.BigEndian, &header); err != nil {
			return fmt.Errorf("reply header: %w", err)
		}
		if header.Xid != s.xid {
			continue
		}
		if header.Err != 0 {
			return fmt.Errorf("operation %d: %w", op, serverError(header.Err))
		}
		return nil
	}
}

// serverError is the code of a server's error.
type serverError int32

func (e serverError) Error() string { return fmt.Sprintf("ZooKeeper error %d", int32(e)) }

// demandsLogin is what a server says that serves who has logged in.
const demandsLogin serverError = -124

// send writes the fields, each of a fixed size or bytes, as one frame.
func (s *session) send(fields ...any) error {
	frame := bytes.NewBuffer(make([]byte, 4))
	for _, field := range fields {
		if err := binary.Write(frame, binary.BigEndian, field); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	binary.BigEndian.PutUint32(frame.Bytes(), uint32(frame.Len()-4))
	_, err := s.conn.Write(frame.Bytes())
	return err
}

// receive returns the next frame without its length.
func (s *session) receive() ([]byte, error) {
	frame, err := protocol.ReadFrame(s.conn)
	if err != nil {
		return nil, err
	}
	return frame[4:], nil
}

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

// orCause replaces an error by the end of ctx, if that is what led to it.
func orCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
