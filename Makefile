# make help says what there is. Only Go, make and bash are needed; tools come as Go modules (.ci/tools/go.mod).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Of a lab: how many fake nodes with how many GPUs each, how many real ones (root and Debian or Ubuntu), in which work folder, with
# the operator (on) or without (off).
NODES    ?= 16
GPUS     ?= 8
REAL     ?= 0
LAB_DIR  ?= .lab
OPERATOR ?= on

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Where the images are, as registry.example.com/team: REGISTRY/operator and REGISTRY/kueue-adapter. There is no default, as no registry
# is the project's own.
REGISTRY ?=
needs_registry := $(filter image install-yaml release,$(MAKECMDGOALS))
ifneq ($(needs_registry),)
ifeq ($(REGISTRY),)
$(error which registry has the images? Write make $(firstword $(needs_registry)) REGISTRY=registry.example.com/team)
endif
endif
# The specs of test/api/e2e that need no add-on, as a label filter; what the others need is ADD_ONS, made by make test-gang.
PLAIN := !Volcano && !Coscheduling && !Kueue
ADD_ONS := volcano coscheduling kueue kueue-adapter
# Controllers of training jobs by others that make bench-peers measures, beside Volcano's.
PEERS := jobset lws trainer training-operator
# How often two gangs contend for the nodes of one in make test-gang.
ROUNDS ?= 50
# What make e2e hands to test/api/e2e: by default it leaves out what needs a lab's audit log and the operator's process, too.
E2E_ARGS ?= --ginkgo.label-filter='!lab && $(PLAIN)'
# How many seeds make soak runs. The tests draw the inputs for their laws from one seed, so that no change fails by another one's defect.
SEEDS ?= 1000000
export RAPID_SEED ?= 1
# What make test-chaos hands to test/api/chaos: --ginkgo.focus=Nodes, --ginkgo.seed=1 ...
CHAOS_ARGS ?= --ginkgo.no-color
# The version from which make test-upgrade upgrades, and to which it goes back: a tag or commit of this repository. There is no release
# yet; since this commit the API has lost spares, the progress Lease and parked workers.
FORMER ?= c4737f94
# The commit that make vulncheck compares with, and for how long make fuzz runs each target.
BASE     ?= HEAD
FUZZTIME ?= 30s
# What make test-nodes hands to test/nodes and test/nodes/incidents, and how often it and make test-frameworks make each fault of which the
# right rank must be named.
NODES_ARGS ?=
INCIDENTS ?= 20
# How many restarts in place make test-storm goes through; NODES_ARGS=--ginkgo.seed=1 repeats a run's choices.
RESTARTS ?= 1000
# Which specs make test-frameworks runs, as a label filter: names of folders, and plain, kill, server-kill, delete, drain, node-kill, cut,
# oom, hang; and attribution.
FRAMEWORKS ?=
# What make test-gpu trains with: the Python that has PyTorch, Lightning, transformers and JAX, or some of them; and where, cuda or cpu. The faults that
# need a GPU do not run on cpu, which tests the test.
PYTHON ?= python3
DEVICE ?= cuda
# Where make test-pictures leaves its pictures; docs/pictures renews those of the documents.
PICTURES ?= $(CURDIR)/bin/pictures
# For which platforms make release and make test-release make it, as linux/amd64,linux/arm64: all by default, fewer for a trial.
PLATFORMS ?=
# The version of Argo Workflows that make test-pipelines runs, and what it hands to the specs: --ginkgo.label-filter=end ...
ARGO := v3.7.2
PIPELINES_ARGS ?=
# What make test-install hands to go test: -run TestTwoTeams ...
INSTALL_ARGS ?=
# The versions of Kubernetes beside the lab's own on which make test-versions runs, each a module below test/api/versions, and which
# specs of test/api/e2e: those that need nothing that only the newest has.
VERSIONS ?= 1.34 1.35 1.36
VERSIONS_FILTER ?= !Native && !since-1.37 && $(PLAIN)
# What make bench hands to test/bench.
BENCH_ARGS ?=

tool := go tool -modfile=$(CURDIR)/.ci/tools/go.mod
# One set of settings for every build, vet, test and linter: with another set Go compiles Kubernetes once more. Debugging information (DWARF)
# takes a tenth of the compile time; stack traces and race reports do not need it. For go commands that you type: eval "$(make go-env)".
go_flags := -trimpath -gcflags=all=-dwarf=false
export CGO_ENABLED ?= 0
export GOFLAGS := $(filter-out $(go_flags),$(shell go env GOFLAGS)) $(go_flags)
generated := 'apis/*zz_generated.deepcopy.go' manifests/crd manifests/chart/files manifests/schema manifests/components/prometheus/prometheusrule.yaml docs/api.md docs/metrics.md \
  test/others/observe/metrics.json sdk/python/trainingjob/types.py
go_files := $(shell find apis cmd/operator pkg -name '*.go' -not -name '*_test.go' -not -path 'pkg/cli/*') go.mod go.sum
cli_files := $(shell find apis cmd/kubectl-tj manifests/crd pkg -type f -not -name '*_test.go' -not -path '*/testdata/*') go.mod go.sum
adapter_files := $(shell find apis cmd/kueue-adapter pkg/operator/memory pkg/operator/outage -type f -not -name '*_test.go')
demo_files := $(shell find test/bench/demo test/api/testbed test/sim/builder -type f -not -name '*_test.go' 2>/dev/null)
demo_programs := bin/lab bin/operator bin/kubectl-tj bin/demo
lab_files := $(shell find test/lab -type f -not -name '*_test.go' -not -name '*.md' -not -path '*/dns/*' -not -path '*/standin/*')
sdk_files := $(shell find sdk/python/trainingjob -type f -not -name '*.pyc') sdk/python/requirements-test.txt

##@ Help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Variables: NODES=$(NODES) GPUS=$(GPUS) REAL=$(REAL) LAB_DIR=$(LAB_DIR) OPERATOR=$(OPERATOR) (off: a lab without it) VERSION=$(VERSION) KUBECONFIG"

##@ Code

.PHONY: generate
generate: ## regenerate deep copies, the CRD, the JSON schema for editors, the types of the SDK, docs/api.md and docs/metrics.md
	$(tool) controller-gen object paths=./apis/...
	$(tool) controller-gen crd:generateEmbeddedObjectMeta=true paths=./apis/... output:crd:dir=bin/crd
	go run ./manifests/gen bin/crd/trainingjob.dev_trainingjobs.yaml manifests
	go run ./sdk/gen manifests/schema/trainingjob.dev_v1alpha1_trainingjob.json sdk/python/trainingjob/types.py
	$(tool) crd-ref-docs --log-level=ERROR --config=.ci/crd-ref-docs/config.yaml --templates-dir=.ci/crd-ref-docs \
	  --renderer=markdown --source-path=apis --output-path=bin/api.md
	go run ./docs/gen bin/api.md apis/training/v1alpha1/conditions.go docs/api.md
	go run ./docs/gen/metrics docs/metrics.md test/others/observe/metrics.json
	(cat manifests/gen/prometheusrule.txt; grep -v '^ *#' manifests/components/prometheus/rules.yaml | sed 's/^./  &/') > manifests/components/prometheus/prometheusrule.yaml

.PHONY: fmt
fmt: ## format the Go code
	gofmt -s -w $$(.ci/go-files)

.PHONY: verify
verify: generate ## fail if generated files, go.mod or the format of the code are not as they should be
	.ci/verify $(generated)

.PHONY: lint
lint: ## run golangci-lint on the operator, the lab and the release; on what needs an add-on, its own test does
	.ci/progress "golangci-lint, the operator" $(tool) golangci-lint run
	GOOS=darwin GOARCH=arm64 .ci/progress "go vet, kubectl tj on macOS" go vet ./cmd/kubectl-tj ./pkg/cli/... ./pkg/local/...
	.ci/progress "kube-api-linter, the API" $(tool) golangci-lint-kube-api-linter run --config .ci/kal.yml ./apis/...
	cd test/lab && ../../.ci/progress "golangci-lint, the lab" $(tool) golangci-lint run --config ../../.golangci.yml
	cd test/lab/dns && ../../../.ci/progress "golangci-lint, the lab's DNS" $(tool) golangci-lint run --config ../../../.golangci.yml
	cd .ci/release && ../../.ci/progress "golangci-lint, the release" $(tool) golangci-lint run --config ../../.golangci.yml
	cd .ci/size && ../../.ci/progress "golangci-lint, the size budgets" $(tool) golangci-lint run --config ../../.golangci.yml

.PHONY: licenses
licenses: bin/licenses ## compare the licences of all modules in the programs with an allow-list
	bin/licenses ./cmd/operator ./cmd/kubectl-tj
	cd cmd/kueue-adapter && ../../bin/licenses .

bin/licenses: $(wildcard .ci/trust/licenses/*.go) .ci/trust/go.mod
	cd .ci/trust && go build -o $(CURDIR)/$@ ./licenses

.PHONY: vulncheck
vulncheck: ## report the known vulnerabilities of code that the programs call, and fail if there are more than in BASE, or any with BASE= (GOVULNDB: the database; jq, curl)
	.ci/vulncheck $(BASE)

.PHONY: outdated
outdated: ## list which modules in the operator and the plug-in have newer versions
	modules=$$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./cmd/operator ./cmd/kubectl-tj | sort -u); \
	found=$$(go list -e -m -u -f '{{$$.Path}} {{$$.Version}}{{with .Update}}, newest {{.Version}}{{end}}{{with .Error}}: {{.Err}}{{end}}' $$modules); \
	grep -E ', newest|: ' <<<"$$found" || echo "all are the newest"

.PHONY: fuzz
fuzz: ## look for FUZZTIME in each fuzz target for words and names of others that break a status, an Event or a pod
	.ci/fuzz $(FUZZTIME)

##@ Programs

.PHONY: build
build: bin/operator ## build bin/operator

bin/operator: $(go_files)
	@.ci/build . ./cmd/operator $@ "-X main.version=$(VERSION)"

.PHONY: kueue-adapter
kueue-adapter: bin/kueue-adapter ## build bin/kueue-adapter, which lets jobs wait in Kueue's queues

bin/kueue-adapter: $(adapter_files)
	@.ci/build cmd/kueue-adapter . $@ "-X main.version=$(VERSION)"
	ln -sfn $(CURDIR)/manifests/components/kueue $@.module

.PHONY: kubectl-tj
kubectl-tj: bin/kubectl-tj bin/kubectl_complete-tj ## build bin/kubectl-tj, the plug-in kubectl tj: copy it to a folder of your PATH, with bin/kubectl_complete-tj

bin/kubectl-tj: $(cli_files)
	@.ci/build . ./cmd/kubectl-tj $@ "-X main.version=$(VERSION)"

bin/kubectl_complete-tj: cmd/kubectl-tj/kubectl_complete-tj
	cp $< $@

bin/demo: $(go_files) $(demo_files)
	@.ci/build . ./test/bench/demo $@ ""

bin/lab: $(lab_files)
	@[ -e $@ ] || echo "bin/lab is Kubernetes in one program, so that no Docker and no cluster is needed. It is compiled once, in 4 to 12 minutes on 2 cores."
	@.ci/build test/lab . $@ "-X k8s.io/component-base/version.gitVersion=v1.37.1"

.PHONY: real
real: bin/coredns bin/pause bin/trainer ## build what real nodes need beside bin/lab: CoreDNS and two programs for images

bin/coredns: $(wildcard test/lab/dns/*)
	@.ci/build test/lab/dns . $@ ""

bin/pause bin/trainer: bin/%: $(wildcard test/lab/standin/*/*.go)
	@.ci/build test/lab ./standin/$* $@ ""

bin/agnhost: test/lab/go.mod
	@.ci/build test/lab k8s.io/kubernetes/test/images/agnhost $@ ""

.PHONY: schedulers
schedulers: bin/coscheduling bin/volcano bin/kueue bin/kueue-adapter ## build what bin/lab up --with coscheduling|volcano|kueue|kueue-adapter runs

bin/coscheduling: $(wildcard test/others/schedulers/coscheduling/*)
	@.ci/build test/others/schedulers/coscheduling . $@ "-X k8s.io/component-base/version.gitVersion=v1.35.4"
	.ci/link-module test/others/schedulers/coscheduling sigs.k8s.io/scheduler-plugins $@.module

bin/volcano: $(wildcard test/others/schedulers/volcano/*)
	@.ci/build test/others/schedulers/volcano . $@ ""
	.ci/link-module test/others/schedulers/volcano volcano.sh/volcano $@.module

bin/kueue: $(wildcard test/others/schedulers/kueue/*)
	@.ci/build test/others/schedulers/kueue sigs.k8s.io/kueue/cmd/kueue $@ "-X sigs.k8s.io/kueue/pkg/version.GitVersion=v0.19.0"
	.ci/link-module test/others/schedulers/kueue sigs.k8s.io/kueue $@.module

.PHONY: versions
versions: $(VERSIONS:%=bin/versions/%/kube-apiserver) ## build the control planes of the other versions of Kubernetes that make test-versions runs

bin/versions/%/kube-apiserver: test/api/versions/%/go.mod
	@.ci/build-version $* kube-scheduler kube-controller-manager kube-apiserver

bin/versions/%/kubelet: test/api/versions/%/go.mod
	@.ci/build-version $* kubelet

.PHONY: peers
peers: $(PEERS:%=bin/peers/%) bin/volcano ## build the controllers by others that make bench-peers measures

bin/peers/jobset: test/others/peers/jobset/go.mod
	@.ci/build test/others/peers/jobset sigs.k8s.io/jobset $@ ""
	.ci/link-module test/others/peers/jobset sigs.k8s.io/jobset $@.module

bin/peers/lws: test/others/peers/lws/go.mod
	@.ci/build test/others/peers/lws sigs.k8s.io/lws/cmd $@ ""
	.ci/link-module test/others/peers/lws sigs.k8s.io/lws $@.module

bin/peers/trainer: test/others/peers/trainer/go.mod
	@.ci/build test/others/peers/trainer github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager $@ ""
	.ci/link-module test/others/peers/trainer github.com/kubeflow/trainer/v2 $@.module

bin/peers/training-operator: test/others/peers/training-operator/go.mod
	@.ci/build test/others/peers/training-operator github.com/kubeflow/training-operator/cmd/training-operator.v1 $@ ""
	.ci/link-module test/others/peers/training-operator github.com/kubeflow/training-operator $@.module

image_args = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD) --build-arg CREATED=$(shell TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)

.PHONY: image
image: ## build the container images REGISTRY/operator and REGISTRY/kueue-adapter with Docker; make release needs none
	@docker version >/dev/null 2>&1 || { echo "make image needs a Docker engine, and none answers here; make build kueue-adapter makes the same binaries" >&2; exit 1; }
	docker build $(image_args) --tag $(REGISTRY)/operator:$(VERSION) .
	docker build $(image_args) --tag $(REGISTRY)/kueue-adapter:$(VERSION) --target kueue-adapter .

.PHONY: image-archive
image-archive: bin/release ## write bin/operator-image.tar, the operator's image for a cluster without a registry, and bin/install.yaml; needs no Docker
	.ci/progress "the operator's image for linux/$(shell go env GOARCH)" \
	  bin/release image --version '$(VERSION)' --registry '$(or $(REGISTRY),trainingjob.local)' --out bin/operator-image.tar --install bin/install.yaml

.PHONY: install-yaml
install-yaml: bin/release ## write bin/install.yaml: manifests/base with the image REGISTRY/operator:VERSION, for kubectl apply -f
	bin/release install --version '$(VERSION)' --registry '$(REGISTRY)' --out bin/install.yaml
	@echo "bin/install.yaml is for the image $(REGISTRY)/operator:$(VERSION): make image builds it"

.PHONY: release
release: bin/release bin/venv-release/ready ## write dist/ for VERSION=v0.1.0 REGISTRY=...: images, install.yaml, chart, kubectl-tj, wheel, SBOMs, checksums
	bin/release all $(if $(PLATFORMS),--platforms $(PLATFORMS)) --version '$(VERSION)' --registry '$(REGISTRY)' --out dist --python "$(CURDIR)/bin/venv-release/bin/python"

bin/release: $(wildcard .ci/release/*)
	@.ci/build .ci/release . $@ ""

bin/helm: test/api/install/helm/go.mod
	@.ci/build test/api/install/helm helm.sh/helm/v4/cmd/helm $@ "-X helm.sh/helm/v4/internal/version.version=v4.3.1"

bin/venv-release/ready: sdk/python/requirements-build.txt
	@command -v python3 >/dev/null || { echo "make release builds the wheel of the SDK, and there is no python3: install Python 3.9 or newer, with venv" >&2; exit 1; }
	rm -rf bin/venv-release
	python3 -m venv bin/venv-release
	bin/venv-release/bin/pip install -q -r $<
	touch $@

##@ Try it

.PHONY: try
try: announce-try bin/kubectl-tj ## train on this machine without Kubernetes (Linux, Python 3): kill a worker, then the parameter server; one minute
	bin/kubectl-tj run examples/hello-ps/stock-image.yaml --path /app=examples/hello-ps --env STEPS=900 --kill worker-1@3s --kill ps-0@15s
	@printf '\n%s\n' 'Next: the same with your own file and other faults (docs/try.md):' \
	  '  bin/kubectl-tj run job.yaml --kill worker-1@20s --exit ps-0=1@40s --lose-node node-2@60s --report job.html' \
	  'make demo shows the operator in Kubernetes; docs/quickstart.md runs this file on your cluster.'

.PHONY: announce-try
announce-try:
	@command -v python3 >/dev/null || { echo "make try trains with Python 3, and there is no python3: install it" >&2; exit 1; }
	@.ci/announce bin/kubectl-tj

.PHONY: demo
demo: announce-demo $(demo_programs) $(if $(filter 0,$(REAL)),,real bin/images/hello-ps.tar) ## show what the operator does, on a lab of its own; REAL=1: on real nodes, which train
	@bin/demo $(if $(filter 0,$(REAL)),,--image bin/images/hello-ps.tar)

.PHONY: announce-demo
announce-demo:
	@.ci/announce $(demo_programs)

bin/images/hello-ps.tar: $(wildcard examples/hello-ps/*) | bin/lab
	bin/lab image build examples/hello-ps --tag registry.example.com/examples/hello-ps:v1 -o $@

.PHONY: go-env
go-env: ## print the settings of Go that every target here has, for your shell: eval "$$(make go-env)"
	@echo "export CGO_ENABLED=$(CGO_ENABLED) GOFLAGS='$(strip $(GOFLAGS))'"

.PHONY: lab
lab: bin/lab bin/kubectl-tj bin/kubectl_complete-tj $(if $(filter off,$(OPERATOR)),,bin/operator) $(if $(filter 0,$(REAL)),,real) ## start a lab in LAB_DIR and leave it running, with REAL real nodes beside the fake ones
	bin/lab up --dir $(LAB_DIR) --nodes $(NODES) --gpus $(GPUS) --real $(REAL) --crds manifests/crd \
	  $(if $(filter off,$(OPERATOR)),,--operator bin/operator --operator-manifests test/lab/installation)
	ln -sf $(CURDIR)/bin/kubectl-tj $(CURDIR)/bin/kubectl_complete-tj $(LAB_DIR)/bin/

.PHONY: lab-down
lab-down: bin/lab ## end the lab in LAB_DIR and leave nothing of it
	bin/lab down --dir $(LAB_DIR)

##@ Tests

.PHONY: unit
unit: ## run the tests that need no cluster, in their short form (about a minute)
	go test -short ./...

.PHONY: test
test: bin/lab bin/operator ## run what users are promised: unit, the API, and the end-to-end specs labelled promise on a lab (minutes)
	.ci/test '$(PLAIN)'

.PHONY: test-all
test-all: bin/lab bin/operator bin/kubectl-tj bin/demo ## run every test that needs no add-on (but make bugs and make race): all seeds, all specs, chaos, the lab's own tests
	.ci/test-all '$(PLAIN)'

.PHONY: soak
soak: ## check the laws on 20,000 draws each, and run the simulator on SEEDS random seeds, a million by default, and a tenth as many drills
	RAPID_SEED=0 RAPID_CHECKS=20000 go test -count=1 -timeout 2h ./pkg/...
	go test -count=1 -timeout 0 -v ./test/sim -run 'TestSeeds$$|TestDrills$$' -sim.seeds=$(SEEDS) -sim.drills=$$(($(SEEDS) / 10))

.PHONY: test-scale
test-scale: ## play a job of 65,000 replicas on a virtual clock with its whole restart (some minutes); make test-all plays it up to a rack that is lost
	go test -count=1 -timeout 30m -v ./test/sim/scale -scale.whole

.PHONY: bench-scale
bench-scale: bin/lab bin/operator ## measure jobs of 5,000 and 10,000 pods, and 2,000 jobs, on a lab of their own (half an hour)
	.ci/bench scale $(BENCH_ARGS)

.PHONY: bench-tenants
bench-tenants: bin/lab bin/operator ## measure how much longer a job takes to start beside a tenant of another namespace that misbehaves
	.ci/bench tenants $(BENCH_ARGS)

.PHONY: bench-flood
bench-flood: bin/lab bin/operator ## submit 5,000 jobs within a minute and delete them, on a lab of its own, and fail if any was lost
	.ci/bench flood $(BENCH_ARGS)

.PHONY: bench-queued
bench-queued: bin/lab bin/operator bin/kueue bin/kueue-adapter ## measure the memory of Kueue's adapter with 10,000 pods queued, on a lab of its own
	.ci/bench queued $(BENCH_ARGS)

.PHONY: papers
papers: ## play the failures that large clusters have published, in full: Llama 3's 54 days on 2,048 nodes and two of Meta's clusters
	go test -count=1 -timeout 0 -v ./test/sim/trace -run Published -trace.papers

.PHONY: bugs
bugs: ## show that the simulator finds each of the bugs of test/sim/bugs, which are built into the product
	.ci/progress "the bugs, for the simulator to find" go test -count=1 -v -timeout 60m -tags bugs ./test/sim/bugs

.PHONY: some-bugs
some-bugs: ## the same for ten of them, drawn by the commit
	.ci/progress "ten bugs, for the simulator to find" go test -count=1 -v -timeout 30m -tags bugs ./test/sim/bugs -bugs.some=10 -bugs.draw=$(shell git rev-parse HEAD)

.PHONY: known
known: ## play the drills and seeds of the simulator that are known to go wrong (test/sim/known.txt, known-seeds.txt): each must still do so
	go test -count=1 -v -timeout 30m ./test/sim -run 'TestKnown(Seeds)?$$' -known

.PHONY: race
race: ## run the product's tests with the race detector (needs a C compiler), except pkg/job, which starts no goroutines
	CGO_ENABLED=1 go test -race $$(go list ./pkg/... ./cmd/operator/... | grep -v /pkg/job/)

.PHONY: e2e
e2e: ## run the end-to-end suite on your cluster with the operator and nodes that kwok plays: make e2e KUBECONFIG=...
	@test -n "$${KUBECONFIG:-}" || { echo "which cluster? Write make e2e KUBECONFIG=..., or make test for a lab" >&2; exit 1; }
	go test -count=1 -timeout 30m -tags e2e ./test/api/e2e $(E2E_ARGS)

.PHONY: test-versions
test-versions: bin/lab bin/operator bin/kubectl-tj bin/kueue bin/kueue-adapter versions ## run the tests of the API, the end-to-end specs and Kueue's queues on the VERSIONS of Kubernetes, each on labs of its own
	.ci/test-versions '$(VERSIONS_FILTER)' $(VERSIONS)

.PHONY: test-gang
test-gang: bin/lab bin/operator bin/kubectl-tj $(ADD_ONS:%=bin/%) ## schedule gangs with every gang scheduler, on a lab of its own
	cd test/others/schedulers/coscheduling && ../../../../.ci/progress "golangci-lint, coscheduling" $(tool) golangci-lint run --config ../../../../.golangci.yml
	cd test/others/schedulers/volcano && ../../../../.ci/progress "golangci-lint, volcano" $(tool) golangci-lint run --config ../../../../.golangci.yml
	cd cmd/kueue-adapter && ../../.ci/progress "golangci-lint, Kueue's adapter" $(tool) golangci-lint run --config ../../.golangci.yml
	.ci/test-gang $(ROUNDS) $(ADD_ONS)

.PHONY: test-kubeflow
test-kubeflow: bin/lab bin/operator bin/peers/training-operator bin/agnhost bin/coscheduling bin/volcano bin/kueue real ## run the tests of Kubeflow's operator, and Kueue's of its jobs, unchanged, against that operator and then against ours; a move from one to the other and back (50 minutes; PARTS='moving specs python volcano scheduler-plugins kueue')
	.ci/test-kubeflow $(PARTS)

.PHONY: test-trainer
test-trainer: bin/lab bin/operator bin/peers/jobset bin/peers/trainer bin/kueue bin/venv-trainer/ready real ## run end-to-end specs of Kubeflow Trainer v2, JobSet and Kueue, unchanged, and the Kubeflow SDK, over JobSet's controller and then over ours (20 minutes; python3 with venv; root on Debian or Ubuntu for programs that run; PARTS='specs queues nodes')
	.ci/test-trainer $(PARTS)

bin/venv-trainer/ready: test/others/trainer/requirements.txt
	rm -rf bin/venv-trainer
	python3 -m venv bin/venv-trainer
	bin/venv-trainer/bin/pip install -q -r $<
	touch $@

.PHONY: test-multikueue
test-multikueue: bin/lab bin/operator bin/kubectl-tj bin/kueue bin/kueue-adapter ## run jobs in other clusters by MultiKueue, on three labs: a manager and two workers (10 minutes)
	.ci/test-multikueue

.PHONY: test-nodes
test-nodes: bin/lab bin/operator bin/kubectl-tj real $(KUBELET:%=bin/versions/%/kubelet) ## test real nodes, that fake nodes report the same, and the operator on them, KUBELET=1.35 with kubelets of that version (root, on Debian or Ubuntu)
	KUBELET=$(KUBELET:%=bin/versions/%/kubelet) .ci/test-nodes $(INCIDENTS) $(NODES_ARGS)

.PHONY: test-storm
test-storm: bin/lab bin/operator real ## restart jobs in place RESTARTS times on real nodes, with faults in between, OPERATOR_ARGS for the operator (root, on Debian or Ubuntu)
	OPERATOR_ARGS='$(OPERATOR_ARGS)' .ci/test-storm $(RESTARTS) $(NODES_ARGS)

.PHONY: test-cli
test-cli: bin/lab bin/kubectl-tj ## follow logs on the real nodes of the lab in LAB_DIR (make lab REAL=2), through restarts
	LAB="$(CURDIR)/bin/lab" LAB_DIR="$(abspath $(LAB_DIR))" KUBECONFIG="$(abspath $(LAB_DIR))/kubeconfig" go test -count=1 -v -timeout 10m -tags nodes ./test/nodes/cli

.PHONY: test-pictures
test-pictures: bin/lab ## look at the pages of kubectl tj report and ui in a browser (CHROMIUM, or Debian's, which is fetched into bin/)
	CHROMIUM="$${CHROMIUM:-$$(bin/lab browser bin/browser)}" PICTURES="$(PICTURES)" go test -count=1 -v -timeout 10m -tags pictures ./test/bench/pictures

.PHONY: test-chaos
test-chaos: bin/lab bin/operator ## break a lab of its own for a quarter of an hour while jobs run, and count exactly
	go test -count=1 -v -timeout 60m -tags chaos ./test/api/chaos $(CHAOS_ARGS)

.PHONY: test-upgrade
test-upgrade: bin/lab bin/operator ## upgrade from FORMER and go back while jobs run, with each CRD under each operator; uninstall and install again
	.ci/build-former $(FORMER) bin/former
	go test -count=1 -v -timeout 30m -tags chaos ./test/api/chaos -former=$(CURDIR)/bin/former --ginkgo.no-color --ginkgo.label-filter=upgrade

.PHONY: test-frameworks
test-frameworks: bin/lab bin/operator bin/kubectl-tj real ## train the programs of examples/ on real nodes and break them (FRAMEWORKS='hello-ps && kill'): root, Debian or Ubuntu
	.ci/test-frameworks $(INCIDENTS) '$(FRAMEWORKS)'

.PHONY: test-local
test-local: bin/kubectl-tj bin/venv-local/ready ## train the programs of examples/ on this machine by kubectl tj run, unbroken and killed (PROGRAMS=paddle): Python 3.11 with venv, 7 GB from PyPI
	go test -count=1 -v -timeout 1h -tags local ./test/nodes/local -run '/$(PROGRAMS)'

bin/venv-local/ready: test/nodes/local/requirements.txt
	rm -rf bin/venv-local
	python3 -m venv bin/venv-local
	bin/venv-local/bin/pip install -q --no-cache-dir -r $<
	touch $@

# A machine without Go or a network needs four things: bin/kubectl-tj, bin/gpu.test, test/nodes/gpu/train.py and sdk/python/trainingjob. There
# "bin/gpu.test -test.v" in their top folder is the same test, with the variables PYTHON and DEVICE; -test.run and -test.parallel work as ever.
# Namespaces of the network need root or the right to make user namespaces. The status is 77 if nothing could be tested.
.PHONY: test-gpu
test-gpu: has-gpu bin/kubectl-tj ## break trainings on one GPU by kubectl tj run, with the libraries of PYTHON (DEVICE=cpu: the faults that need no GPU)
	go test -c -tags gpu -ldflags '-s -w' -o bin/gpu.test ./test/nodes/gpu
	PYTHON='$(PYTHON)' DEVICE='$(DEVICE)' bin/gpu.test -test.v -test.timeout 1h

.PHONY: has-gpu
has-gpu:
	@[[ '$(DEVICE)' == cpu ]] || nvidia-smi -L || { echo "make test-gpu: NOT RUN: nvidia-smi does not answer; DEVICE=cpu runs the faults that need no GPU" >&2; exit 77; }

.PHONY: sdk
sdk: bin/lab bin/operator bin/venv/ready ## check and run the Python SDK and its steps of Pipelines, on a lab of their own (python3 with venv; packages come from PyPI)
	.ci/sdk

bin/venv/ready: sdk/python/requirements-test.txt
	rm -rf bin/venv
	python3 -m venv bin/venv
	bin/venv/bin/pip install -q -r $<
	touch $@

.PHONY: test-integrations
test-integrations: bin/lab bin/operator bin/kube-state-metrics ## prove the recipes for Argo CD, Flux, Argo Workflows, Katib, kube-state-metrics and autoscalers, on a lab of its own
	cd test/others/integrations && ../../../.ci/progress "golangci-lint, the integrations" $(tool) golangci-lint run --config ../../../.golangci.yml
	.ci/test-integrations

bin/kube-state-metrics: $(wildcard test/others/integrations/kube-state-metrics/*)
	@.ci/build test/others/integrations/kube-state-metrics k8s.io/kube-state-metrics/v2 $@ ""

.PHONY: test-pipelines
test-pipelines: bin/lab bin/operator bin/s3 bin/images/pipelines.tar bin/pipelines/train.yaml bin/venv/ready real ## run TrainingJobs in pipelines of kfp 1.8, by Argo Workflows on real nodes (root, Debian or Ubuntu; 9 minutes, the first time 20 more)
	.ci/test-pipelines $(PIPELINES_ARGS)

bin/argo/argoexec: .ci/build-argo
	@.ci/build-argo $(ARGO) $(@D)

bin/s3: $(wildcard test/nodes/pipelines/s3/*)
	@.ci/build test/nodes/pipelines/s3 github.com/johannesboyne/gofakes3/cmd/gofakes3 $@ ""

# What an image is made of lies in one folder.
bin/images/pipelines.tar: test/nodes/pipelines/Dockerfile examples/hello-ps/train.py bin/argo/argoexec $(sdk_files) | bin/lab
	rm -rf bin/pipelines/image && mkdir -p bin/pipelines/image
	cp -r --parents $^ bin/pipelines/image/ && mv bin/pipelines/image/test/nodes/pipelines/Dockerfile bin/pipelines/image/
	bin/lab image build bin/pipelines/image --tag registry.example.com/pipelines/step:v1 -o $@

bin/pipelines/train.yaml: test/nodes/pipelines/pipelines.py bin/venv-pipelines/ready $(sdk_files)
	PYTHONPATH=sdk/python bin/venv-pipelines/bin/python $< $(@D)

bin/venv-pipelines/ready: test/nodes/pipelines/requirements.txt
	rm -rf bin/venv-pipelines
	python3 -m venv bin/venv-pipelines
	bin/venv-pipelines/bin/pip install -q -r $<
	touch $@

.PHONY: test-install
test-install: bin/lab bin/operator bin/helm image-archive ## install, upgrade, roll back and uninstall by Helm and by kustomize; and from an image archive, on real nodes (root)
	.ci/test-install $(INSTALL_ARGS)

.PHONY: test-release
test-release: ## make a release twice in two clones of the last commit, compare every byte, and look into its images (needs python3, git)
	.ci/test-release '$(PLATFORMS)'

.PHONY: test-observe
test-observe: bin/promtool ## compare rules, alerts and dashboards with the metrics, with the parser and promtool of Prometheus (compiled once, some minutes)
	cd test/others/observe && ../../../.ci/progress "golangci-lint, rules and dashboards" $(tool) golangci-lint run --config ../../../.golangci.yml
	cd test/others/observe && go test -count=1 -timeout 10m -v .

.PHONY: test-alerts
test-alerts: bin/lab bin/operator bin/prometheus ## fire every alert on a lab of its own, scraped by a real Prometheus, and read a job's log there
	cd test/others/observe && go test -count=1 -timeout 20m -tags alerts -run TestAlerts -v .

# Prometheus without service discovery: Kubernetes' and the clouds' are not needed, and take most of its build.
bin/promtool bin/prometheus: bin/%: test/others/observe/go.mod
	GOFLAGS="$$GOFLAGS -tags=remove_all_sd" .ci/build test/others/observe github.com/prometheus/prometheus/cmd/$* $@ ""

.PHONY: bench
bench: bin/lab ## measure on the cluster of KUBECONFIG, or else on the lab in LAB_DIR: make bench BENCH_ARGS=...
	KUBECONFIG="$${KUBECONFIG:-$(LAB_DIR)/kubeconfig}" go run ./test/bench $(BENCH_ARGS)

.PHONY: bench-peers
bench-peers: bin/lab bin/operator peers ## measure every controller of training jobs in turn, on a lab of its own: BENCH_ARGS='--rows large --makers JobSet'
	.ci/bench-peers "$(PEERS) volcano" $(BENCH_ARGS)

.PHONY: clean
clean: ## remove what was built (make lab-down first, if a lab runs)
	rm -rf bin
