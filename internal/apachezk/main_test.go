package apachezk

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
