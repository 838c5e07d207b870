package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/zklock/zklock/bench/internal/result"
)

// thisMachine describes what the run is made on, as far as it can be known.
func thisMachine() result.Machine {
	m := result.Machine{
		CPU:   valueIn("/proc/cpuinfo", "model name", ":"),
		Cores: runtime.NumCPU(),
		OS:    strings.Trim(valueIn("/etc/os-release", "PRETTY_NAME", "="), `"`),
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(load), &m.Load) // stays 0
	}
	return m
}

// valueIn returns what the first line that starts with key says in a file.
func valueIn(file, key, separator string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if before, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(before) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// commit is what was measured: the checkout's commit, with a mark if that is
// not all.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
