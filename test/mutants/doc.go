// Package mutants shows that the simulation finds faults: it breaks one
// safeguard of the lock at a time and requires test/sim to notice.
//
// The library has no switches for this. A mutant is a text in one of its files
// with another in its place, which the go command compiles by -overlay, many in one
// binary. Each old text must occur exactly once, so that the table stays true as
// the code changes.
//
// Beside the tables, which somebody has written, TestCampaign makes mutants by operators on
// the syntax tree of the rooms: see CONTRIBUTING.md.
//
// A mutant that joins a list which was sent before it asked is not among them. It
// costs a place in the queue at a moment that thousands of programs do not come upon:
// a test of the library's, TestAListThatIsSharedIsNoOlderThanTheCallForIt, finds it.
package mutants
