//go:build !linux

package main_test

import (
	"os/exec"
	"strconv"
)

// stateOf returns the state of a process as ps shows it, 0 if there is none.
func stateOf(pid int) byte {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || len(state) == 0 {
		return 0
	}
	return state[0]
}
