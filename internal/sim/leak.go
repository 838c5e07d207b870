package sim

import (
	"bytes"
	"runtime"
	"strings"
)

// bubbled returns the stacks of the goroutines that hang in bubbles.
func bubbled() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var hanging []string
	for _, stack := range bytes.Split(buf, []byte("\n\n")) {
		head, _, _ := bytes.Cut(stack, []byte("\n"))
		if bytes.Contains(head, []byte("synctest bubble")) {
			hanging = append(hanging, string(stack))
		}
	}
	return strings.Join(hanging, "\n\n")
}
