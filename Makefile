# The tools run by version and stay out of go.mod, which is our users' too.
GOFUMPT     = go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Only a test that hangs takes that long; a busy machine needs ten minutes for some.
GO_TEST = go test -timeout 30m

# What the benchmark measures, what the command is built with and what the larger tests
# need are kept from the library's users by modules of their own. Each is tested with the
# versions in its own go.mod; go.work is for working on them together.
MODULES = . test test/ui bench cmd/zklock zklockprom zklockotel zklockgocron zklockcertmagic zklockkrb contrib/service contrib/service/deploy
TESTED = test test/ui cmd/zklock zklockprom zklockotel zklockgocron zklockcertmagic zklockkrb contrib/service contrib/service/deploy
export GOWORK = off

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(if $(APACHE),zookeeper) ## eight processes and one counter, without the lock and with it; APACHE=1 starts a real server, SERVERS=host:port,... uses yours
	@go -C cmd/zklock run . demo $(if $(SERVERS),--servers '$(SERVERS)') $(if $(APACHE),--apache)

.PHONY: test
test: zookeeper browser ## every test, on a real ZooKeeper too (installs Debian's package if there is none)
	$(GO_TEST) ./...
	@for module in $(TESTED); do (cd $$module && $(GO_TEST) ./...) || exit; done

.PHONY: schedules
schedules: ## every schedule of the scopes of the recipe and the lease, of which `make test` leaves out the largest
	$(GO_TEST) ./internal/recipe -run NoSchedule -recipe.full
	$(GO_TEST) ./internal/lease -run NoSchedule -lease.full

.PHONY: options
options: zookeeper ## the lock's tests with WithHandoff on every Locker, with WithRetention, and with both
	@for options in handoff retention handoff,retention; do \
		echo "-zklock.options=$$options"; \
		(cd test && $(GO_TEST) -count 1 ./lock -args -zklock.options=$$options) || exit; \
	done

.PHONY: suite
suite: ## the lock, zktest's conformance and a short nemesis on the ZooKeeper of another Debian suite: SUITE=sid
	@home=$$(scripts/zookeeper-home.sh $(or $(SUITE),sid)) || exit; cd test && \
		ZOOKEEPER_HOME=$$home $(GO_TEST) -count 1 ./apachezk ./zktest ./lock && \
		ZOOKEEPER_HOME=$$home $(GO_TEST) -count 1 -short ./nemesis

.PHONY: suite-short
suite-short: ## a minute of `make suite`; where the packages cannot be had it says so
	@if ! home=$$(scripts/zookeeper-home.sh $(or $(SUITE),sid)); then \
		echo "SKIPPED: no test runs on a second version of ZooKeeper, for its packages cannot be had"; exit 0; fi; cd test && \
		ZOOKEEPER_HOME=$$home $(GO_TEST) -count 1 ./zktest -run 'AnswerAlike|ToldSo' && \
		ZOOKEEPER_HOME=$$home $(GO_TEST) -count 1 ./lock -run 'ExcludeEachOther|ServerRestart|Apache|RealServer|RealZooKeeper'

TOOLCHAINS = go1.25.0 go1.27.4

.PHONY: toolchains
toolchains: ## the library with the oldest Go and the newest: build, vet, and the guard of the goroutine's id
	@for toolchain in $(TOOLCHAINS); do \
		export GOTOOLCHAIN=$$toolchain; \
		if ! go version; then echo "SKIPPED: nothing is built with $$toolchain, for it cannot be had"; continue; fi; \
		go build ./... && go vet ./... && go test -count 1 ./internal/goid || exit; \
	done

.PHONY: clients
clients: ## the test suites of go-zookeeper and of kazoo against zktest; what is to fail is listed in test/zktest/suites
	test/zktest/suites/run.sh

.PHONY: race
race: zookeeper ## the tests of -short under the race detector
	$(GO_TEST) -race -short ./...
	@for module in $(TESTED); do (cd $$module && $(GO_TEST) -race -short ./...) || exit; done

.PHONY: cover
cover: zookeeper ## every test, then the coverage of each function and in total (cover.out)
	$(GO_TEST) -coverpkg=./... -coverprofile=cover.out ./...
	cd test && $(GO_TEST) -coverpkg=github.com/zklock/zklock/... -coverprofile=../cover.test.out ./...
	@tail -n +2 cover.test.out >>cover.out && rm cover.test.out
	cd test && go tool cover -func=../cover.out

.PHONY: bench
bench: zookeeper ## zklock beside its peers, into docs/results/benchmarks.md; SMOKE=1 a minute, ENSEMBLE=3 servers, BENCH_ARGS=-h for more (these write no page)
	@scripts/install-peers.sh
	@go -C bench build -o bench . && exec bench/bench $(if $(SMOKE)$(ENSEMBLE)$(BENCH_ARGS),,-results docs/results) \
		$(if $(SMOKE),-smoke) $(if $(ENSEMBLE),-servers $(ENSEMBLE)) $(BENCH_ARGS)

.PHONY: bench-test
bench-test: zookeeper ## the tests of the benchmark itself, and a minute of it, in which every work has to run
	@scripts/install-peers.sh
	cd bench && $(GO_TEST) ./...
	@$(MAKE) bench SMOKE=1

.PHONY: ui-shots
ui-shots: zookeeper browser ## the pictures of zklock ui, into docs/images: look at them
	cd test/ui && $(GO_TEST) -count 1 . -run '^TestShots$$' -servers 3 -shots ../../docs/images

.PHONY: soak
soak: zookeeper ## processes with locks, with and without options, on three servers under random faults, for DURATION (10m); SEED=n for the same kind of faults
	cd test && go test ./nemesis -run '^TestSoak$$' -v -count 1 -timeout 0 -soak $(or $(DURATION),10m) $(if $(SEED),-seed $(SEED))

.PHONY: mutants
mutants: ## judge generated mutants of what has changed since REF (main); ALL=1 of everything, into docs/results/mutants.md; MUTANT_ARGS=... as in CONTRIBUTING.md
	cd test && go test ./mutants -run '^TestCampaign$$' -v -count 1 -timeout 0 -campaign \
		$(if $(ALL),-report,-changed $(or $(REF),main)) $(MUTANT_ARGS)

.PHONY: tables
tables: zookeeper ## judge all of the mutants that somebody has written, of which `make test` judges a few by chance
	cd test && go test ./mutants -run 'FindEveryMutant$$' -v -count 1 -timeout 0 -tables

.PHONY: results
results: ## docs/results anew, for a release: hours on a quiet machine
	@$(MAKE) bench
	@$(MAKE) mutants ALL=1

.PHONY: lint
lint: ## commit messages, formatting, go vet, staticcheck, a tidy go.mod, a whole go.work.sum; SINCE=REF
	@scripts/lint-commits.sh $(SINCE)
	@unformatted=$$($(GOFUMPT) -l .) || exit; \
	if [ -n "$$unformatted" ]; then echo "not formatted by gofumpt:"; echo "$$unformatted"; exit 1; fi
	@for module in $(MODULES); do \
		echo "vet, staticcheck, go mod tidy: $$module"; \
		(cd $$module && go vet ./... && $(STATICCHECK) ./... && go mod tidy -diff) || exit; \
	done
	@sums=$$(cksum <go.work.sum); GOWORK= go list -m all >/dev/null || exit; \
	if [ "$$sums" != "$$(cksum <go.work.sum)" ]; then echo "go.work.sum was not complete: commit what the go command has added"; exit 1; fi

.PHONY: platforms
platforms: ## build what docs/support.md says builds, for other systems and processors
	@for platform in windows/amd64 darwin/arm64 freebsd/amd64 netbsd/amd64 linux/386 linux/arm64; do \
		echo "build: $$platform"; export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		go build . ./election ./membership ./zktest || exit; \
		for module in zklockprom zklockotel zklockgocron zklockcertmagic zklockkrb $$([ $$GOOS = windows ] || echo cmd/zklock); do (cd $$module && go build -o /dev/null .) || exit; done; \
	done
	@for module in $(MODULES); do \
		echo "vet: linux/386 $$module"; (cd $$module && CGO_ENABLED=0 GOARCH=386 go vet ./...) || exit; \
	done
	@for module in . zklockprom zklockotel zklockgocron zklockcertmagic zklockkrb; do \
		echo "vet: windows/amd64 $$module"; (cd $$module && CGO_ENABLED=0 GOOS=windows go vet ./...) || exit; \
	done

.PHONY: release
release: ## prove in a clone that VERSION=v0.1.0 of every module can be had by version; TAG=1 makes the tags
	@scripts/release.sh $(if $(TAG),--tag) $(or $(VERSION),v0.1.0)

.PHONY: zookeeper
zookeeper:
	@scripts/install-zookeeper.sh

.PHONY: browser
browser:
	@scripts/install-browser.sh
