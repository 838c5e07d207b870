//go:build unix

package apachezk

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// fourLetterPatience is for a server that is stopped. One that runs answers within
// milliseconds, unless the machine is busy.
const fourLetterPatience = 20 * time.Second

// FourLetter sends one of ZooKeeper's four letter words, such as "srvr",
// "wchs" or "dump", and returns the answer. It fails after twenty seconds.
func (s *Server) FourLetter(cmd string) (string, error) {
	return s.fourLetter(context.Background(), cmd)
}

func (s *Server) fourLetter(ctx context.Context, cmd string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fourLetterPatience)
	defer cancel()
	answer, err := ask(ctx, s.Addr(), cmd)
	if err != nil {
		return "", fmt.Errorf("apachezk: %s to %s: %w", cmd, s.Addr(), err)
	}
	return answer, nil
}

func ask(ctx context.Context, addr, cmd string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, cmd); err != nil {
		return "", orCause(ctx, err)
	}
	answer, err := io.ReadAll(conn)
	return string(answer), orCause(ctx, err)
}

// Mode returns what the server says it is: "standalone", "leader",
// "follower" or "observer". While it does not serve, that is an error.
func (s *Server) Mode(ctx context.Context) (string, error) {
	mode, _, err := s.role(ctx)
	return mode, err
}

// role returns the server's mode and the epoch of the last leader from which
// it has a transaction.
func (s *Server) role(ctx context.Context) (mode string, epoch int64, err error) {
	answer, err := s.fourLetter(ctx, "srvr")
	if err != nil {
		return "", 0, err
	}
	var zxid int64
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Mode":
			mode = value
		case "Zxid":
			if _, err := fmt.Sscanf(value, "0x%x", &zxid); err != nil {
				return "", 0, fmt.Errorf("apachezk: zxid %q of %s: %w", value, s.Addr(), err)
			}
		}
	}
	if mode == "" {
		return "", 0, fmt.Errorf("apachezk: %s serves no requests: %s", s.Addr(), strings.TrimSpace(answer))
	}
	return mode, zxid >> 32, nil
}
