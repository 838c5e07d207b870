module github.com/zklock/zklock/zklockgocron

go 1.25.0

replace github.com/zklock/zklock => ..

require (
	github.com/go-co-op/gocron/v2 v2.21.2
	github.com/google/uuid v1.6.0
	github.com/jonboulle/clockwork v0.5.0
	github.com/stretchr/testify v1.12.1
	github.com/zklock/zklock v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/go-zookeeper/zk v1.0.4 // indirect
	github.com/petermattis/goid v0.0.0-20260820044319-269ab09b5261 // indirect
	github.com/robfig/cron/v3 v3.0.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.22.0 // indirect
)
