// Package client is what zklock and membership both need to know of go-zookeeper.
package client
