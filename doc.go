// Package zklock gives a Go program that uses sync.Mutex a lock that holds
// across machines, kept by a ZooKeeper ensemble.
package zklock
