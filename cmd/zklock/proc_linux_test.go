package main_test

import (
	"bytes"
	"fmt"
	"os"
)

// stateOf returns the state of a process as ps shows it, 0 if there is none.
func stateOf(pid int) byte {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return rest[0]
}
