package work

// readMostly is a mix of readers and few writers. kazoo 2.8 has no part in it:
// its ReadLock waits for the last writer in the queue, also for one behind it
// that waits for the reader.
func readMostly() Work {
	return Work{
		ID:      "readmostly",
		Parties: []Party{zklock, curator},
		Shows:   []Quantity{micros("Read/write lock, 4 sessions of 4, 5 in 100 write: time per cycle")},
		Measure: cycle{word: "rw", sessions: 4, workers: 4, more: map[string]string{"writes": "5"}}.measure,
	}
}
