package nemesis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
)

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
