//go:build unix && !netbsd

package job

import "syscall"

// continued has wait4 report that a process goes on.
const continued = syscall.WCONTINUED
