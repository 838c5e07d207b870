//go:build unix && !linux

package job

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Linux alone has these.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
func adoptOrphans() error                                { return nil }
func listChildren() error                                { return nil }
func forgetChildren()                                    {}
func hideFromKillall()                                   {}
func listsChildren() bool                                { return false }
func children(int) (pids []int, known bool)              { return nil, false }
func nothingLeft([]int, bool) bool                       { return false }
func isStopped(int) (stopped, known bool)                { return false, true }
func isAlone(int) bool                                   { return false }
func isOrphaned(int) bool                                { return false }
func members(int) (pids []int)                           { return nil }

// isOfParent reports whether a descriptor is a socket: whose, only Linux tells.
func isOfParent(descriptor int) bool {
	_, err := unix.GetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil
}
