# Everything a contributor runs; `make` alone lists it. Needs Go; `make test` also a C compiler, `make test-servers` apt.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS     := $(CURDIR)/_build/tools
COLLECTOR := $(CURDIR)/_build/collector
BINARY    := bin/otelcol-topk
BENCHED   := $(CURDIR)/_build/bench
FUZZTIME  ?= 10s
BENCH     ?= .
LOAD      ?= 1
RATE      ?= 2000
ROUNDS    ?= 50
SEED      ?= 0

export PATH := $(TOOLS):$(PATH)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: $(COLLECTOR)/main.go ## build bin/otelcol-topk
	@mkdir -p bin
	CGO_ENABLED=0 go -C $(COLLECTOR) build -mod=mod -trimpath -ldflags '-s -w' -o $(CURDIR)/$(BINARY) .

$(COLLECTOR)/main.go: builder-config.yaml go.mod $(TOOLS)/builder
	builder --config builder-config.yaml --skip-compilation
	@touch $@

.PHONY: run
run: build ## start the quickstart with a sample stream and print its list (LOAD=0: no stream; RATE: records a second)
	@CGO_ENABLED=0 go build -o bin/ ./testbed/cmd/quickstart ./testbed/cmd/loadgen
	@bin/quickstart -config examples/quickstart/config.yaml $(if $(filter 0,$(LOAD)),,-loadgen bin/loadgen -rate $(RATE))

.PHONY: certs
certs: ## make the certificates to try examples/secure with, in certs/
	go run ./testbed/cmd/certs

# The packages that need servers from apt, or minutes, run by `make test-servers` only.
SERVERS := ./testbed/servers ./testbed/faults ./testbed/soak

.PHONY: test
test: build ## every test that needs nothing but Go and a C compiler, with the race detector
	go list ./... | grep -vxF "$$(go list $(SERVERS))" | xargs go test -race -timeout 15m
	@# These two measure, and under the race detector there is nothing to measure.
	go test -timeout 5m -run '^(TestCountingAllocatesNothing|TestAHundredShardsAreAnsweredInTime)$$' ./topk ./receiver/trendreceiver

.PHONY: test-servers
test-servers: build ## tests under faults, and against the real Prometheus and Chromium, installed by apt
	tools/apt-install.sh prometheus chromium
	go test -count=1 -p 1 -parallel 6 -timeout 15m $(SERVERS)

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## golangci-lint, layers, file length, prose
	golangci-lint run ./...
	tools/check-files.sh

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## format by gofumpt
	golangci-lint fmt ./...

.PHONY: generate
generate: $(TOOLS)/mdatagen ## run the generators: component metadata, protobuf
	go generate ./...

.PHONY: bench
bench: $(TOOLS)/benchstat ## benchmarks, as a table (BENCH: a pattern)
	@mkdir -p _build
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count 5 -timeout 2h ./topk ./internal/... ./processor/... ./receiver/... ./exporter/... | tee _build/bench.txt
	benchstat _build/bench.txt

$(BENCHED)/main.go: testbed/bench/builder-config.yaml go.mod $(TOOLS)/builder
	builder --config testbed/bench/builder-config.yaml --skip-compilation
	@touch $@

.PHONY: bench-collectors
bench-collectors: $(BENCHED)/main.go ## whole collectors against contrib's count, and at 300,000 records a second; writes testbed/results
	CGO_ENABLED=0 go -C $(BENCHED) build -mod=mod -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/otelcol-bench .
	go test -run '^$$' -bench . -benchtime 1x -timeout 30m ./testbed/bench -v -results ../results

.PHONY: test-memory
test-memory: build ## memory under ten million distinct keys (minutes); writes testbed/results
	go test -count=1 -run TestAFloodOfKeys -timeout 30m ./testbed/e2e -v -distinct 10000000 -results ../results

.PHONY: faults
faults: build ## kill -9 and damaged values, ROUNDS of each kind (SEED: of the first; minutes); writes testbed/results
	go test -count=1 -parallel 6 -run 'TestKilledProcesses|TestADamagedValue' -timeout 3h ./testbed/faults -v -rounds $(ROUNDS) -seed $(SEED) -results ../results

.PHONY: soak
soak: build ## days of event time in minutes: memory, goroutines and files level off; writes testbed/results
	go test -count=1 -timeout 1h ./testbed/soak -v -hours 72 -results ../results

.PHONY: fuzz
fuzz: ## every fuzz target for a short while (FUZZTIME)
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | while IFS=: read -r file func; do \
		go test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$(dirname "$$file")"; done

.PHONY: clean
clean: ## delete what was built
	rm -rf bin _build

# One binary a module: their requirements do not fit into one.
$(TOOLS)/mdatagen: tools/go.mod tools/go.sum
	go -C tools build -o $(TOOLS)/ tool
	@touch $(TOOLS)/*

$(TOOLS)/benchstat: $(TOOLS)/mdatagen

$(TOOLS)/builder: tools/builder.mod tools/builder.sum
	go -C tools build -modfile builder.mod -o $(TOOLS)/ tool
	@touch $@

$(TOOLS)/golangci-lint: tools/lint.mod tools/lint.sum
	go -C tools build -modfile lint.mod -o $(TOOLS)/ tool
	@touch $@
