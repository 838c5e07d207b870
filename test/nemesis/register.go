package nemesis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock"
)

// Update is one read and write of a register that a holder of a lock made: it
// wrote what it read plus one. It is reported before the write, as unknown, and
// after it.
type Update struct {
	Register string
	Process  int
	ID       int64 // within the process
	Token    int64 // of the hold
	Wrote    int
	Outcome  Outcome
}

// Outcome is what is known of a write.
type Outcome int

// What is known of a write.
const (
	Unknown Outcome = iota // its answer was lost, or its writer
	Written
	Refused // by the fence
)

// LostUpdates checks, by what the registers hold at the end, that each value was
// confirmed to one writer only and none was skipped or forgotten: no update may
// have undone another.
func LostUpdates(updates []Update, final map[string]int) []Violation {
	type slot struct {
		register string
		value    int
	}
	var found []Violation
	confirmed, possible := make(map[slot]Update), make(map[slot]bool)
	for _, u := range updates {
		at := slot{u.Register, u.Wrote}
		if u.Outcome == Unknown {
			possible[at] = true
		}
		if u.Outcome != Written {
			continue
		}
		if earlier, twice := confirmed[at]; twice {
			found = append(found, Violation(fmt.Sprintf("%s: %d was written under the token %#x and under %#x: an update is lost",
				u.Register, u.Wrote, earlier.Token, u.Token)))
		}
		if u.Wrote > final[u.Register] {
			found = append(found, Violation(fmt.Sprintf("%s: %d was written, and the register ends at %d",
				u.Register, u.Wrote, final[u.Register])))
		}
		confirmed[at] = u
	}
	for register, last := range final {
		for value := 1; value <= last; value++ {
			at := slot{register, value}
			if _, known := confirmed[at]; !known && !possible[at] {
				found = append(found, Violation(fmt.Sprintf("%s: nobody wrote %d of %d", register, value, last)))
			}
		}
	}
	return found
}

// fenced increments the register that the lock protects, in a write that happens
// while the hold's node exists or not at all. The read may be any server's: whoever holds
// the lock has seen the end of the hold before, and all that was written under it.
func (c *client) fenced(h *zklock.Hold) {
	register := registerOf(pathOf(h))
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
	c.reporter.update(u, func() Outcome { return writeFenced(conn, h, u) })
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
	c.reporter.update(u, func() Outcome {
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

// registerOf names the register that the lock at path protects.
func registerOf(path string) string { return path + "-register" }

// pathOf returns the path of the lock that is held.
func pathOf(h *zklock.Hold) string { return h.Node()[:strings.LastIndexByte(h.Node(), '/')] }

// store is a register outside ZooKeeper that protects itself by fencing tokens: a
// file that all processes of the machine share.
//
// It refuses a token below the highest that it has seen, and sees those of
// readers too: the owner of a newer lock who has read must not be overwritten by
// the owner of an older one.
type store string

var errOldToken = errors.New("the store has seen a higher token")

// read returns the value, 0 at first.
func (s store) read(token int64) (value int, err error) {
	err = s.locked(func(f *os.File, seen int64, v int) error {
		value = v
		return s.put(f, token, seen, v)
	})
	return value, err
}

// write sets the value.
func (s store) write(token int64, value int) error {
	return s.locked(func(f *os.File, seen int64, _ int) error { return s.put(f, token, seen, value) })
}

func (s store) put(f *os.File, token, seen int64, value int) error {
	if token < seen {
		return errOldToken
	}
	record := binary.BigEndian.AppendUint64(nil, uint64(token))
	record = binary.BigEndian.AppendUint64(record, uint64(value))
	_, err := f.WriteAt(record, 0)
	return err
}

// locked gives the record to do, alone in all processes. The kernel ends the
// file's lock with the process.
func (s store) locked(do func(f *os.File, seen int64, value int) error) error {
	f, err := os.OpenFile(string(s), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", s, err)
	}
	record := make([]byte, 16)
	if _, err := f.ReadAt(record, 0); err != nil {
		clear(record) // a new file
	}
	return do(f, int64(binary.BigEndian.Uint64(record)), int(binary.BigEndian.Uint64(record[8:])))
}
