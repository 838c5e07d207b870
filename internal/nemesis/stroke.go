package nemesis

// Stroke is a fault that happened.
type Stroke struct {
	What         string
	Began, Ended Instant
}
