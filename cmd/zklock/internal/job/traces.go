//go:build unix

package job

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What $GODEBUG was, for the command, once this process was executed without its traces: behind our
// process id, as somebody else may have set it.
const (
	goDebug        = "GODEBUG"
	commandGoDebug = "ZKLOCK_GODEBUG"
)

// leaveTraces executes this process anew if Go's runtime writes traces: it does so with everything
// else stopped, and for ever while nobody reads its standard error. Nothing may have begun yet.
func leaveTraces() error {
	ours := strconv.Itoa(os.Getpid()) + ":"
	if !strings.HasPrefix(os.Getenv(commandGoDebug), ours) {
		_ = os.Unsetenv(commandGoDebug) // of a keeper, too
	}
	said := os.Getenv(goDebug)
	quiet := withoutTraces(said)
	if quiet == said {
		return nil
	}
	path, err := executable()
	if err != nil {
		return err
	}
	env := with(os.Environ(), commandGoDebug, ours+said)
	return syscall.Exec(path, os.Args, with(env, goDebug, quiet))
}

// withoutTraces returns the settings that have the runtime write nothing while all goes well.
func withoutTraces(settings string) string {
	var left []string
	for setting := range strings.SplitSeq(settings, ",") {
		name, value, _ := strings.Cut(setting, "=")
		switch {
		case strings.HasSuffix(name, "trace"), name == "scheddetail", name == "checkfinalizers":
		case name == "netdns" && strings.ContainsAny(value, "0123456789"):
			if resolver := strings.Trim(value, "+0123456789"); resolver != "" { // behind or before the level
				left = append(left, name+"="+resolver)
			}
		default:
			left = append(left, setting)
		}
	}
	return strings.Join(left, ",")
}

// Environ returns the environment that zklock was started with.
func Environ() []string {
	env := os.Environ()
	said, changed := os.LookupEnv(commandGoDebug)
	if !changed {
		return env
	}
	_, said, _ = strings.Cut(said, ":")
	return with(without(env, commandGoDebug), goDebug, said)
}

func with(env []string, name, value string) []string {
	return append(without(env, name), name+"="+value)
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(variable string) bool { return strings.HasPrefix(variable, name+"=") })
}
