package zklockprom_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockprom"
	"github.com/zklock/zklock/zktest"
)

// A lock is used, tried in vain, and lost, and then the metrics are scraped.
func Example() {
	zookeeper, err := zktest.Start() // stands for your ZooKeeper
	if err != nil {
		log.Fatal(err)
	}
	defer zookeeper.Close()
	metrics, registry := zklockprom.New(), prometheus.NewRegistry()
	registry.MustRegister(metrics)
	session, err := zklock.Connect(context.Background(), []string{zookeeper.Addr()}, 10*time.Second,
		zklock.WithSessionTrace(metrics.SessionTrace()))
	if err != nil {
		log.Fatal(err)
	}
	mu, err := zklock.New(session, "/locks/ledger", zklock.WithTrace(metrics.Trace()))
	if err != nil {
		log.Fatal(err)
	}

	err = mu.Do(context.Background(), func(context.Context) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	mu.Lock()
	if _, err := mu.TryAcquire(context.Background()); !errors.Is(err, zklock.ErrLocked) {
		log.Fatal(err)
	}
	zookeeper.ExpireSession(session.ID())
	<-mu.Lost()
	session.Close() // what is reported in the background has been when this returns

	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if shown.MatchString(lines.Text()) {
			fmt.Println(lines.Text())
		}
	}
	// Output:
	// zklock_connected 0
	// zklock_errors_total{path="/locks/ledger",reason="denied"} 0
	// zklock_errors_total{path="/locks/ledger",reason="locked"} 1
	// zklock_held{path="/locks/ledger"} 0
	// zklock_hold_seconds_count{path="/locks/ledger"} 2
	// zklock_lost_total{path="/locks/ledger"} 1
	// zklock_suspended_total{path="/locks/ledger"} 1
	// zklock_wait_seconds_count{path="/locks/ledger"} 2
}

var shown = regexp.MustCompile(`^zklock_((errors|lost|suspended)_total|held|connected|(wait|hold)_seconds_count)[{ ]`)
