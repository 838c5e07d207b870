//go:build race

package lock_test

// raceEnabled skips the tests that reconnect with watches set: go-zookeeper reads its lastZxid
// without a lock then, while the receiving goroutine writes it.
const raceEnabled = true
