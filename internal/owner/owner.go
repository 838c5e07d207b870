// Package owner is what a node says of the process that it belongs to.
package owner

import (
	"fmt"
	"os"
	"time"
)

var start = time.Now()

// Ourselves names this process by its host, its id and its start.
func Ourselves() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("host=%s pid=%d start=%s", host, os.Getpid(), start.Format(time.RFC3339))
}
