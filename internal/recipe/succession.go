package recipe

// Succession is what is known of two contenders of one session when the one ahead may hand its
// lock to the other, without a word from the server.
type Succession struct {
	Ahead, Self Node

	// Listed says that a list taken after self's create showed ahead as the nearest of those
	// that self waits for.
	Listed bool

	// SameQueue says that the queue's node has been there, without a break, since before ahead's
	// create: a queue that was made anew counts from zero.
	SameQueue bool
}

// Allowed reports whether self is the next one to have the lock while ahead's node is there.
// Newcomers get larger numbers, so that nobody comes in between. A writer may leave a reader in
// its place, so that it is for exclusive locks only.
func (s Succession) Allowed() bool {
	return s.Ahead.Kind == Exclusive && s.Self.Kind == Exclusive && !s.Self.Unordered() &&
		(s.Listed || s.SameQueue && s.Ahead.Sequence == s.Self.Sequence-1)
}
