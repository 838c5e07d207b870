package job

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel send sig, if it is not 0, to the command when the
// thread that starts it ends, which must therefore be kept.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// adoptOrphans makes this process the parent of those whose own has ended, so that
// it learns of their end, and none of them stays as a zombie that looks alive.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it the group is looked at now and then
}
