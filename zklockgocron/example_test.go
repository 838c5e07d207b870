package zklockgocron_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockgocron"
	"github.com/zklock/zklock/zktest"
)

// Two instances have the same job. One runs it, and the other skips it.
func Example() {
	zookeeper, err := zktest.Start() // stands for your ZooKeeper
	if err != nil {
		log.Fatal(err)
	}
	defer zookeeper.Close()
	for instance := range 2 {
		session, err := zklock.Connect(context.Background(), []string{zookeeper.Addr()}, 10*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		defer session.Close()
		locker, err := zklockgocron.NewLocker(session, "/app/jobs", 10*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
		if err != nil {
			log.Fatal(err)
		}
		ended := make(chan string)
		job, err := scheduler.NewJob(
			gocron.CronJob("0 9 * * *", false),
			gocron.NewTask(func() { fmt.Println("sending the digest") }),
			gocron.WithName("digest"),
			gocron.WithEventListeners(
				gocron.AfterJobRuns(func(_ uuid.UUID, job string) { ended <- "has run " + job }),
				gocron.AfterLockError(func(_ uuid.UUID, job string, err error) {
					ended <- fmt.Sprintf("has skipped %s, which another runs: %t", job, errors.Is(err, zklock.ErrLocked))
				}),
			),
		)
		if err != nil {
			log.Fatal(err)
		}
		scheduler.Start()
		if err := job.RunNow(); err != nil { // as at nine o'clock
			log.Fatal(err)
		}
		fmt.Println("instance", instance, <-ended)
		if err := scheduler.Shutdown(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// sending the digest
	// instance 0 has run digest
	// instance 1 has skipped digest, which another runs: true
}
