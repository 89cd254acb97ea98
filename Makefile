# Ebb needs Go, make and git. Everything else is a Go module that these targets fetch at a pinned version.

export CGO_ENABLED ?= 0

# The binary takes its version from git through the Go toolchain, where there is a repository that can be read.
VCS     := $(shell git rev-parse -q --verify HEAD >/dev/null 2>&1 && echo true || echo false)
LINT    := go tool -modfile=tools/go.mod golangci-lint
STAT    := go tool -modfile=tools/go.mod benchstat

TEST_TIMEOUT ?= 20m
LONG_TIMEOUT ?= 3h
CHECKS       ?= 20000
FUZZTIME     ?= 30s
BENCHFLAGS   ?=

.DEFAULT_GOAL := help

.PHONY: build
build: ## Build bin/ebb and bin/ebb-host, static binaries
	go build -buildvcs=$(VCS) -trimpath -ldflags '-s -w' -o bin/ ./cmd/ebb ./cmd/ebb-host

.PHONY: demo
demo: build ## Reclaim a small registry of its own, from push to proof, and clean up
	bin/ebb demo

.PHONY: test
test: ## Run all tests, then the linters and the checks of what is generated
	go test -timeout $(TEST_TIMEOUT) ./...
	@$(MAKE) --no-print-directory lint check-generated

.PHONY: engines
engines: ## Build today's Docker engine for the tests, which else do it (needs a C compiler)
	cd tools/dockerd && CGO_ENABLED=0 GOFLAGS=-tags=exclude_graphdriver_btrfs go tool -n dockerd
	cd tools/runc && CGO_ENABLED=1 go tool -n runc

.PHONY: race
race: ## Run the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout $(LONG_TIMEOUT) ./...

.PHONY: test-long
test-long: ## Search longer: many more random worlds, every fuzz target for FUZZTIME, all tests with races
	EBB_LONG=1 hack/test-long.sh $(CHECKS) $(LONG_TIMEOUT)
	hack/fuzz.sh $(FUZZTIME)
	CGO_ENABLED=1 go test -race -timeout $(LONG_TIMEOUT) ./...

.PHONY: bench
bench: ## Compare with the stock collector and the bare file system, and write docs/performance.md
	go run ./test/bench -doc docs/performance.md $(BENCHFLAGS)

.PHONY: bench-host
bench-host: ## Compare with Docker's own commands on real engines of 1,000 images
	go test ./test/engines -run '^$$' -bench '^BenchmarkHost$$' -benchtime 1x -timeout $(LONG_TIMEOUT)

.PHONY: bench-go
bench-go: ## Run the Go benchmarks and summarise them
	@mkdir -p bin
	go test -run '^$$' -bench . -benchmem -count 6 ./internal/... | tee bin/bench.txt
	$(STAT) bin/bench.txt

.PHONY: lint
lint: ## Check style, the walls between packages and go.mod
	$(LINT) run
	hack/walls.sh
	go mod tidy -diff

.PHONY: check-generated
check-generated: ## Check that generated files are up to date
	hack/check-generated.sh

.PHONY: fmt
fmt: ## Format the sources
	$(LINT) fmt

.PHONY: clean
clean: ## Remove what these targets built
	rm -rf bin

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
