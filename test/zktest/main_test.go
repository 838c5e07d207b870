// Package zktest_test asks zktest and Apache ZooKeeper the same, down to the frames.
package zktest_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
