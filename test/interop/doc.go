// Package interop tests zklock beside other libraries on the same lock: in fleets of processes that
// use it at the same time, and in meetings of two. It has tests only.
//
// The others are Apache Curator and ZooKeeper's own recipe (Java), go-zookeeper's zk.Lock and the
// one that it comes from, kazoo (Python), as Debian packages them or by version, and locks made by
// hand. What is not installed is skipped.
package interop
