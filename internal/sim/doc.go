// Package sim hunts for double grants. It runs the real lock over the real
// go-zookeeper against an ensemble of zktest, in virtual time, through random
// programs and random faults, and judges every result as it comes.
//
// A seed determines a [Program]: the ensemble, the machines with their sessions
// and Lockers, what each goroutine does, and which faults strike when. [Run]
// simulates it. The referee sees each call's result and each committed
// transaction, and reports the first promise that was broken:
//
//	P1  two believe to hold one path, or a node was deleted under its holder
//	P2  a hold outlived its node, or its ctx, its Lost channel, Valid and Check disagree
//	P3  a grant went past a contender that was ahead in the queue
//	P4  a node or a watch is left behind although nobody wants it, or its release confirmed
//	P5  a call returned more than 50 ms after its ctx or its time had ended, or succeeded then
//	P6  Close was slow, or a goroutine or a session is left after it
//	P7  a call claims success without a hold, fails without a reason, or tells what never was
//
// and liveness: before the first fault nobody loses the lock, and after the last
// one everybody gets it.
//
//	go test ./internal/sim -run 'TestSimulation$' -seeds 100000 -timeout 0
//	go test ./internal/sim -run 'TestSimulation$' -seed 4711
//	go test ./internal/sim -run 'TestSimulation$' -focus 'machine sleeps'
//
// The seed fixes everything but the order in which goroutines run: programs that
// had failed once failed again in 1 to 5 of 20 runs, or in 1 of 40. -times repeats a
// seed, -shrink leaves out what a failure does not need.
package sim
