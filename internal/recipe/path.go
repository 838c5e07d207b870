package recipe

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckPath applies ZooKeeper's rules for paths (PathUtils.validatePath), so that a bad one is
// refused before anything is sent. It also refuses the root, which could never be made anew, and
// what is ZooKeeper's own.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("path is empty: it must start with /")
	case path[0] != '/':
		return fmt.Errorf("path %q is relative: it must start with /", path)
	case path == "/":
		return errors.New("path \"/\" is the root: it must name a node below it")
	case path == reserved, strings.HasPrefix(path, reserved+"/"):
		return fmt.Errorf("path %q is in %s, which ZooKeeper keeps for itself", path, reserved)
	case strings.HasSuffix(path, "/"):
		return fmt.Errorf("path %q must not end with /", path)
	case !utf8.ValidString(path):
		return fmt.Errorf("path %q is not valid UTF-8", path)
	}
	for _, name := range strings.Split(path[1:], "/") {
		switch name {
		case "":
			return fmt.Errorf("path %q has an empty node name (//)", path)
		case ".", "..":
			return fmt.Errorf("path %q has the node name %q: relative names are not allowed", path, name)
		}
	}
	for i, r := range path {
		if refused(r) {
			return fmt.Errorf("path %q has the character %U at byte %d, which ZooKeeper refuses", path, r, i)
		}
	}
	return nil
}

// reserved is the node that holds what ZooKeeper keeps for itself.
const reserved = "/zookeeper"

// refused reports whether ZooKeeper refuses r in a path. The server judges UTF-16 units: a
// character above U+FFFF is a pair from the refused surrogate range.
func refused(r rune) bool {
	switch {
	case r <= 0x1f, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
		return true
	}
	return false
}

// Join returns the path of dir's child name.
func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// Parent returns the path of the node above path, "/" for a top-level one.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// Base returns the last name in path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
