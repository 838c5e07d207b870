package sim

import "strings"

// base returns the last name in a node's path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
