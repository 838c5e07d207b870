package job

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel send sig, if it is not 0, to the command when the
// thread that starts it ends, which must therefore be kept.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// adoptOrphans makes this process the parent of those of its descendants whose own
// has ended: it learns of their end, and none of them gets away.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// hideFromKillall gives this process another name than the front's: who stops or
// kills every zklock by name means those, and one that is left can end the command.
func hideFromKillall() {
	_ = os.WriteFile("/proc/self/comm", []byte("lock-keeper"), 0) // else both of them are found
}

// children returns the child processes of a process that have not ended, and
// reports whether they can be known.
func children(pid int) (pids []int, known bool) {
	if !procIsOurs() {
		return nil, false
	}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err == nil && !readProcess(child).over() {
				pids = append(pids, child)
			}
		}
	}
	return pids, len(lists) > 0 || pid != os.Getpid()
}

// hasUnreaped reports whether a child of this process has ended and was not waited
// for yet.
func hasUnreaped() bool {
	var child unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &child, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && child.Signo != 0
}

// procIsOurs reports whether /proc knows processes by the numbers that this process does:
// it may be another container's, where they are other processes'.
func procIsOurs() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// isStopped reports whether a process is seen to be stopped.
func isStopped(pid int) bool { return procIsOurs() && readProcess(pid).state == 'T' }

// isAlone reports whether a process is known to be the only one of its group.
func isAlone(pid int) bool { return slices.Equal(members(pid), []int{pid}) }

// members returns the processes of a group that have not ended, as far as they can be known.
func members(group int) (pids []int) {
	if !procIsOurs() {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if p := readProcess(pid); p.group == group && !p.over() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// process is what the kernel shows of one; the zero one, if it shows nothing.
type process struct {
	state   byte // as ps shows it
	group   int
	threads int
}

func readProcess(pid int) (p process) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	p.state = fields[0][0]
	p.group, _ = strconv.Atoi(string(fields[2]))
	p.threads, _ = strconv.Atoi(string(fields[17]))
	return p
}

// over reports whether nothing of the process runs any more. One whose first thread
// has ended before the others looks like a zombie too.
func (p process) over() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }
