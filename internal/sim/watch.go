package sim

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// watch panics if it is not stopped soon. It is made outside the bubble that it
// watches, whose own time stands still while a goroutine there spins.
func watch(what string, log **timeline) (watchdog *time.Timer) {
	return time.AfterFunc(30*time.Second, func() {
		panic(fmt.Sprintf("%s: liveness: spins without end\n%s\n%s", what, *log, bubbled()))
	})
}

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
