package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel send sig, if it is not 0, to the command when the
// thread that starts it ends, which must therefore be kept.
func dieWithParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// lists are the files that list our children, by the thread that has them. They are opened while there
// are descriptors.
var lists struct {
	sync.Mutex
	files map[int]*os.File
}

// adoptOrphans makes this process the parent of those of its descendants whose own
// has ended: it learns of their end, and none of them gets away. Its first thread gets them.
func adoptOrphans() error {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	lists.Lock()
	defer lists.Unlock()
	if len(lists.files) > 0 {
		return nil
	}
	return list(os.Getpid())
}

// listChildren has children know those that this thread starts.
func listChildren() error {
	if unix.Gettid() == os.Getpid() {
		return nil // adoptOrphans has
	}
	lists.Lock()
	defer lists.Unlock()
	return list(unix.Gettid())
}

// list opens the list of a thread's children, if there are such lists.
func list(thread int) error {
	file, err := os.Open(fmt.Sprintf("/proc/self/task/%d/children", thread))
	if err == nil {
		if lists.files == nil {
			lists.files = make(map[int]*os.File)
		}
		lists.files[thread] = file
	}
	if tells(err) {
		return nil
	}
	return err
}

// forgetChildren undoes listChildren, when this thread has none left.
func forgetChildren() {
	thread := unix.Gettid()
	lists.Lock()
	defer lists.Unlock()
	if file := lists.files[thread]; file != nil && thread != os.Getpid() {
		delete(lists.files, thread)
		_ = file.Close()
	}
}

// listsChildren reports whether there are lists of our children.
func listsChildren() bool {
	lists.Lock()
	defer lists.Unlock()
	return len(lists.files) > 0 && procIsOurs()
}

// tells reports whether /proc says what there is, be it by an error: no such process, or none
// that we may see. By any other, as without a descriptor, it could not be looked at.
func tells(err error) bool {
	return err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrPermission)
}

// isOfParent reports whether a descriptor is a socket that our parent has made.
func isOfParent(descriptor int) bool {
	peer, err := unix.GetsockoptUcred(descriptor, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(peer.Pid) == unix.Getppid()
}

// hideFromKillall gives this process another name than the front's: who stops or
// kills every zklock by name means those, and one that is left can end the command.
func hideFromKillall() {
	_ = os.WriteFile("/proc/self/comm", []byte("lock-keeper"), 0) // else both of them are found
}

// children returns the child processes of a process that have not ended, and reports
// whether they are known to be all.
func children(pid int) (pids []int, known bool) {
	if !procIsOurs() {
		return nil, false
	}
	pids, known = linux{}.children(pid)
	return slices.DeleteFunc(pids, linux{}.isOver), known
}

// linux is the kernel as /proc shows it.
type linux struct{}

// children returns the child processes of a process, also those that have ended and were not
// waited for, and reports whether they are known to be all.
func (linux) children(pid int) (pids []int, known bool) {
	var text string
	add := func(list []byte, err error) {
		text += string(list)
		known = known && tells(err)
	}
	if pid == os.Getpid() {
		lists.Lock()
		defer lists.Unlock()
		known = len(lists.files) > 0
		for _, file := range lists.files {
			add(io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64)))
		}
	} else {
		dir := fmt.Sprintf("/proc/%d/task", pid)
		threads, err := os.ReadDir(dir)
		known = tells(err)
		for _, thread := range threads {
			add(os.ReadFile(filepath.Join(dir, thread.Name(), "children")))
		}
	}
	for field := range strings.FieldsSeq(text) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids, known
}

func (linux) session(pid int) (int, error) { return unix.Getsid(pid) }

func (linux) isOver(pid int) bool {
	p, _ := readProcess(pid)
	return p.over()
}

// procIsOurs reports whether /proc knows processes by the numbers that this process does:
// it may be another container's, where they are other processes'.
func procIsOurs() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// isStopped reports whether a process is stopped, and whether it could be looked at.
func isStopped(pid int) (stopped, known bool) {
	if !procIsOurs() {
		return false, true
	}
	p, err := readProcess(pid)
	return p.state == 'T', tells(err)
}

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
		if p, _ := readProcess(pid); p.group == group && !p.over() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isOrphaned reports whether a group is known to have nobody who could continue it: the kernel
// discards stops of the terminal then.
func isOrphaned(group int) bool {
	all := members(group)
	return len(all) > 0 && !slices.ContainsFunc(all, mayBeOfJob)
}

// mayBeOfJob reports whether the parent of a process could continue its group, as a shell does, or,
// which is not known of one of the group that /proc hides, whether that one's could.
func mayBeOfJob(pid int) bool {
	p, err := readProcess(pid)
	if err != nil || p.parent == 0 { // it is not of this namespace
		return err != nil
	}
	session, _ := unix.Getsid(pid)
	above, _ := unix.Getsid(p.parent)
	group, _ := unix.Getpgid(p.parent)
	if group == p.group {
		_, err = readProcess(p.parent)
		return err != nil
	}
	return above == session
}

// process is what the kernel shows of one; the zero one, if it shows nothing.
type process struct {
	state   byte // as ps shows it
	parent  int
	group   int
	threads int
}

func readProcess(pid int) (p process, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	p.state = fields[0][0]
	p.parent, _ = strconv.Atoi(string(fields[1]))
	p.group, _ = strconv.Atoi(string(fields[2]))
	p.threads, _ = strconv.Atoi(string(fields[17]))
	return p, nil
}

// over reports whether nothing of the process runs any more. One whose first thread
// has ended before the others looks like a zombie too.
func (p process) over() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }
