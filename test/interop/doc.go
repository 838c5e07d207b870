// Package interop tests zklock in mixed fleets: processes of this module and of
// other libraries, which use the same lock at the same time. It has tests only.
//
// The others are Apache Curator (Java), go-zookeeper's zk.Lock, and kazoo
// (Python), as Debian packages them. What is not installed is skipped.
package interop
