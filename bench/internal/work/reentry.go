package work

// reentry locks and unlocks what its goroutine holds.
func reentry() Work {
	return Work{
		ID:      "reentry",
		Parties: []Party{zklock, curator},
		Shows: []Quantity{
			{Number: "ns", Title: "Re-entry: lock and unlock what is held already", Unit: "ns", Per: 1},
			{Number: "allocs", Title: "Allocations of a re-entry (Go)", Unit: "objects", Per: 1},
		},
		Measure: cycle{word: "reenter"}.measure,
	}
}
