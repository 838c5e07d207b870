// Package apachezk_test sees what Apache ZooKeeper's servers do that the other tests start.
package apachezk_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(orphanageEnv); how != "" {
		startServerAndHang(how)
	}
	goleak.VerifyTestMain(m)
}
