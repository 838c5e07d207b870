//go:build unix && !linux

package job

import "syscall"

// Linux alone has these.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
func adoptOrphans()                                      {}
func hideFromKillall()                                   {}
func children(int) (pids []int, known bool)              { return nil, false }
func hasUnreaped() bool                                  { return false }
func isStopped(int) bool                                 { return false }
func isAlone(int) bool                                   { return false }
func members(int) (pids []int)                           { return nil }
