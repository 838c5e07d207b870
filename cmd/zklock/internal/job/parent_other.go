//go:build unix && !linux

package job

import "syscall"

// Linux alone has these.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
func adoptOrphans()                                      {}
