package zktest

import (
	"strings"
	"unicode/utf16"
)

// validPath reports whether ZooKeeper's PathUtils.validatePath accepts path. It looks at UTF-16 units as Java does, so
// every character beyond the basic plane is refused for its surrogates.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return false
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	for _, c := range utf16.Encode([]rune(path)) {
		if c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0 {
			return false
		}
	}
	return true
}

// splitPath returns the parent and the last name. It accepts whatever has a slash, as ZooKeeper does before it validates.
func splitPath(path string) (parent, name string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 || strings.IndexByte(path, 0) >= 0 {
		return "", "", false
	}
	if i == 0 {
		return "/", path[1:], true
	}
	return path[:i], path[i+1:], true
}

// special reports whether path is one of ZooKeeper's own nodes, which cannot be deleted.
func special(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}
