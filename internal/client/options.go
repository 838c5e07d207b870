package client

import "fmt"

// Apply has opts, which users give, change what is set. One that is nil is an error, as other
// bad arguments are.
func Apply[T any, O ~func(*T)](set *T, opts []O) error {
	for i, apply := range opts {
		if apply == nil {
			return fmt.Errorf("option %d is nil", i+1)
		}
		apply(set)
	}
	return nil
}
