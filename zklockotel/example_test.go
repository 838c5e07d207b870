package zklockotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockotel"
	"github.com/zklock/zklock/zktest"
)

// A section is traced: the wait for the lock, the hold, and what was done meanwhile.
func Example() {
	zookeeper, err := zktest.Start() // stands for your ZooKeeper
	if err != nil {
		log.Fatal(err)
	}
	defer zookeeper.Close()
	ctx := context.Background()
	session, err := zklock.Connect(ctx, []string{zookeeper.Addr()}, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	ended := make(chan string, 10)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(printer{tracetest.NewNoopExporter(), ended}))
	mu, err := zklock.New(session, "/locks/ledger", zklock.WithTrace(zklockotel.Trace(provider)))
	if err != nil {
		log.Fatal(err)
	}
	err = mu.Do(ctx, func(context.Context) error {
		fmt.Println("posting")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-ended)
	fmt.Println(<-ended)
	// Output:
	// posting
	// zklock.wait zklock.path=/locks/ledger
	// zklock.hold zklock.path=/locks/ledger
}

// printer sends a line for each span that has ended.
type printer struct {
	*tracetest.NoopExporter
	lines chan<- string
}

func (p printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		path := s.Attributes()[0]
		p.lines <- fmt.Sprintf("%s %s=%s", s.Name(), path.Key, path.Value.AsString())
	}
	return nil
}
