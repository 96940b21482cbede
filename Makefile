# Everything a contributor runs; `make` alone lists it. Needs Go; `make test` also a C compiler, `make test-servers` apt.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS     := $(CURDIR)/_build/tools
COLLECTOR := $(CURDIR)/_build/collector
BINARY    := bin/otelcol-topk
BENCHED   := $(CURDIR)/_build/bench
PYTHON    := _build/python
FUZZTIME  ?= 10s
BENCH     ?= .
LOAD      ?= 1
RATE      ?= 2000
ROUNDS    ?= 50
SEED      ?= 0
SEEDLOAD  ?= 100000

export PATH := $(TOOLS):$(PATH)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: $(COLLECTOR)/main.go ## build bin/otelcol-topk and bin/topk
	@mkdir -p bin
	CGO_ENABLED=0 go -C $(COLLECTOR) build -mod=mod -trimpath -ldflags '-s -w' -o $(CURDIR)/$(BINARY) .
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/ ./cmd/topk

$(COLLECTOR)/main.go: builder-config.yaml go.mod $(TOOLS)/builder
	builder --config builder-config.yaml --skip-compilation
	@touch $@

_build/router/main.go: testbed/router/builder-config.yaml go.mod $(TOOLS)/builder
	builder --config testbed/router/builder-config.yaml --skip-compilation
	@touch $@

.PHONY: router
router: _build/router/main.go ## build bin/otelcol-router, the collector of examples/partition/router.yaml
	CGO_ENABLED=0 go -C _build/router build -mod=mod -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/otelcol-router .

.PHONY: run
run: build ## start the quickstart with a sample stream and print its list (LOAD=0: no stream; RATE: records a second)
	@CGO_ENABLED=0 go build -o bin/ ./testbed/cmd/quickstart ./testbed/cmd/loadgen
	@bin/quickstart -config examples/quickstart/config.yaml $(if $(filter 0,$(LOAD)),,-loadgen bin/loadgen -rate $(RATE))

.PHONY: certs
certs: ## make the certificates to try examples/secure with, in certs/
	go run ./testbed/cmd/certs

# The packages that need servers, other engines, or minutes, run by `make test-servers` only.
SERVERS := ./testbed/bucket ./testbed/router ./testbed/servers ./testbed/redis ./testbed/kafka ./testbed/seedload ./testbed/faults ./testbed/soak ./testbed/sql ./testbed/shards ./testbed/wire ./testbed/reads

.PHONY: test
test: build $(TOOLS)/kustomize ## every test that needs nothing but Go and a C compiler, with the race detector
	@# The tests of the binary first: they mostly wait, while the other packages compute.
	go list ./testbed/e2e ./... | awk '!seen[$$0]++' | grep -vxF "$$(go list $(SERVERS) ./testbed/recountbench)" | xargs go test -race -timeout 25m -parallel 4
	go test -timeout 5m ./testbed/recountbench
	@# These two measure, and under the race detector there is nothing to measure.
	go test -timeout 5m -run '^(TestCountingAllocatesNothing|TestAHundredShardsAreAnsweredInTime)$$' ./topk ./receiver/trendreceiver
	@# A board has no goroutine: with the race detector, which takes ten times as long, a fifth of its random fleets, and here all.
	go test -timeout 5m ./internal/board

.PHONY: test-servers
test-servers: build router $(TOOLS)/versitygw ## tests under faults, and against the real Prometheus, Redis, Kafka, Chromium, an S3 server, DuckDB, ClickHouse and Spark
	tools/apt-install.sh prometheus chromium redis-server
	command -v java >/dev/null || tools/apt-install.sh default-jre-headless
	tools/python-env.sh $(PYTHON) testbed/sql/requirements.txt
	tools/kafka.sh _build/kafka
	go test -count=1 -p 1 -parallel 6 -timeout 15m $(SERVERS)
	@# A gateway takes minutes to serve a day of history; make test audits four hours of each set.
	go test -count=1 -timeout 15m ./testbed/e2e -run '^TestListsOfRealDataAgreeWithTheirAudits$$' -audited 20h

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
	go test -run '^$$' -bench 'Collectors|Peak' -benchtime 1x -timeout 30m ./testbed/bench -v -results ../results

.PHONY: bench-partitioning
bench-partitioning: ## one stream under each partitioning against exact counts (minutes); writes testbed/results
	go test -count=1 -timeout 30m ./testbed/partitioning -v -seed $(SEED) -records 2000000 -keys 1000000 -minutes 30 -results ../results

.PHONY: bench-archive
bench-archive: ## bytes of a million records in the archive, and as OTLP under zstd; writes testbed/results
	go test -run '^$$' -bench Archive -benchtime 1x -timeout 30m ./testbed/bench -v -results ../results

.PHONY: bench-recount
bench-recount: build ## exact counts of an hour of 50 million records, held against DuckDB (minutes); writes testbed/results
	tools/python-env.sh $(PYTHON) testbed/sql/requirements.txt
	go test -count=1 -timeout 2h ./testbed/recountbench -v -records 50000000 -distinct 5000000 -files 8 -results ../results -python $(CURDIR)/$(PYTHON)/bin/python

.PHONY: bench-reads
bench-reads: build ## 15,000 lists read a second for a minute, beside 100,000 records counted; writes testbed/results
	go test -count=1 -timeout 10m ./testbed/reads -v -rate 15000 -records 100000 -duration 1m -results ../results

.PHONY: bench-wire
bench-wire: build ## bytes that a shard sends to a gateway in a minute, by groups and records (7 minutes); writes testbed/results
	go test -count=1 -timeout 30m ./testbed/wire -v -warm 3m -duration 3m -results ../results

.PHONY: test-memory
test-memory: build ## memory under ten million distinct keys (minutes); writes testbed/results
	go test -count=1 -run TestAFloodOfKeys -timeout 30m ./testbed/e2e -v -distinct 10000000 -results ../results

.PHONY: faults
faults: build $(TOOLS)/versitygw ## kill -9 and damaged values, ROUNDS of each kind (SEED: of the first; minutes); writes testbed/results
	go test -count=1 -parallel 6 -run 'TestKilled|TestADamagedValue' -timeout 3h ./testbed/faults -v -rounds $(ROUNDS) -seed $(SEED) -results ../results

.PHONY: bench-shards
bench-shards: build ## a thousand simulated shards and one gateway for five minutes; writes testbed/results
	go test -count=1 -timeout 20m ./testbed/shards -v -shards 1000 -duration 5m -results ../results

.PHONY: soak
soak: build ## days of event time in minutes: memory, goroutines and files level off; writes testbed/results
	go test -count=1 -timeout 1h ./testbed/soak -v -hours 72 -results ../results

.PHONY: kafka-faults
kafka-faults: build ## shards, broker, producer and gateway killed by kill -9 under load, ROUNDS of each kind (SEED: of all); writes testbed/results
	command -v java >/dev/null || tools/apt-install.sh default-jre-headless
	tools/kafka.sh _build/kafka
	go test -count=1 -timeout 3h -run '^Test(WhatKafka|A.*Kill|AShard)' ./testbed/kafka -v -rounds $(ROUNDS) -seed $(SEED) -results ../results

.PHONY: seedload
seedload: build ## a whole fleet with Kafka and Redis, at SEEDLOAD records a second for five minutes, of which processes are killed; writes testbed/results
	tools/apt-install.sh redis-server
	command -v java >/dev/null || tools/apt-install.sh default-jre-headless
	tools/kafka.sh _build/kafka
	go test -count=1 -timeout 1h ./testbed/seedload -v -rate $(SEEDLOAD) -duration 5m -keys 10000000 -regions 50 -seed $(SEED) -results ../results

.PHONY: bench-redis
bench-redis: build ## what lists in Redis cost: 300 groups, 3 windows, 5 rules; writes testbed/results
	tools/apt-install.sh redis-server
	go test -count=1 -timeout 15m ./testbed/redis -v -groups 300 -publishes 12 -results ../results

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

$(TOOLS)/versitygw: tools/versitygw.mod tools/versitygw.sum
	go -C tools build -modfile versitygw.mod -o $(TOOLS)/ tool
	@touch $@

$(TOOLS)/kustomize: tools/kustomize.mod tools/kustomize.sum
	go -C tools build -modfile kustomize.mod -o $(TOOLS)/ tool
	@touch $@
