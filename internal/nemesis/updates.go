package nemesis

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// fenced increments the register that the lock protects, in a write that happens
// while the hold exists or not at all. The read may be any server's: whoever holds
// the lock has seen the end of the hold before, and all that was written under it.
func (c *client) fenced(h *zklock.Hold) {
	register := besides(pathOf(h))
	conn := c.session.Conn()
	data, _, err := conn.Get(register)
	if errors.Is(err, zk.ErrNoNode) {
		// It may be there already. That, too, only the next one can use.
		_, _ = conn.Create(register, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return
	}
	if err != nil {
		return
	}
	value, err := strconv.Atoi(string(data))
	must(err)
	u := Update{Register: register, Process: c.job.Process, Token: h.Token(), Wrote: value + 1}
	c.report.update(u, func() Outcome { return writeFenced(conn, h, u) })
}

// writeFenced writes while the hold exists, or not at all.
func writeFenced(conn *zk.Conn, h *zklock.Hold, u Update) Outcome {
	_, err := conn.Multi(h.Check(), &zk.SetDataRequest{Path: u.Register, Data: []byte(strconv.Itoa(u.Wrote)), Version: -1})
	switch {
	case err == nil:
		return Written
	case errors.Is(err, zk.ErrNoNode):
		return Refused
	}
	return Unknown
}

// stored increments the register outside ZooKeeper, which looks at the token.
func (c *client) stored(h *zklock.Hold) {
	register := filepath.Join(c.job.Store, strings.ReplaceAll(pathOf(h), "/", "-"))
	s := store(register)
	value, err := s.read(h.Token())
	if errors.Is(err, errOldToken) {
		return
	}
	must(err)
	u := Update{Register: register, Process: c.job.Process, Token: h.Token(), Wrote: value + 1}
	c.report.update(u, func() Outcome {
		err := s.write(u.Token, u.Wrote)
		if errors.Is(err, errOldToken) {
			return Refused
		}
		must(err)
		return Written
	})
}

// must ends the process if the machine fails it.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// pathOf returns the path of the lock that is held.
func pathOf(h *zklock.Hold) string { return h.Node()[:strings.LastIndexByte(h.Node(), '/')] }
