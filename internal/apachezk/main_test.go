//go:build unix

package apachezk

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a test waits for what has to happen; only a failing one
// waits that long.
const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
