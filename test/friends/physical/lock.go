// Package physical has the method set of github.com/hashicorp/vault/sdk/physical, v0.25.1, that a lock of
// Vault's needs.
package physical

// Lock is one node's part in the lock of the active node.
type Lock interface {
	Lock(stopCh <-chan struct{}) (<-chan struct{}, error)
	Unlock() error
	Value() (bool, string, error)
}
