package nemesis

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the main function of the workers, which are this executable.
func TestMain(m *testing.M) {
	WorkerMain()
	goleak.VerifyTestMain(m)
}
