package client

// Kept returns what a package keeps for the client while it is open: one value of each type, that create
// makes when it is first asked for.
func Kept[T any](c *Client, create func() *T) *T {
	key := any((*T)(nil))
	kept, known := c.kept.Load(key)
	if !known {
		kept, _ = c.kept.LoadOrStore(key, create())
	}
	return kept.(*T)
}
