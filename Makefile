# Two commands are enough: `make run` and `make test`. Each installs its requirements once. `make help` lists the others.

PYTHON ?= python3
UV := $(shell command -v uv || echo target/tools/bin/uv)
UV_VERSION := 0.13.9
BIN := .venv/bin
READY := .venv/.ready
READY_RUST := .venv/.ready-rust
READY_DEV := .venv/.ready-dev
READY_ALL := .venv/.ready-all
ENGINE := python/fullpipe/wings/pages/explore/assets/engine.wasm.gz

# Files from which the package is built.
SOURCES := Cargo.toml crates/python/build.rs Cargo.lock pyproject.toml uv.lock $(filter-out crates/wings/quic/% crates/wings/kernel/%,$(wildcard crates/*/Cargo.toml crates/wings/*/Cargo.toml crates/*/profiles/*.toml crates/*/presets/*.toml) $(shell find crates/*/src crates/wings/*/src -type f))

# Keeps cargo from joining make's job server when targets run in parallel.
ALONE := env -u MAKEFLAGS -u MFLAGS

export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON := $(PYTHON)
# Compile once here, rather than in the first run of every command.
export UV_COMPILE_BYTECODE := 1

.PHONY: help run extra docs gallery observatory setup setup-dev setup-all oracle browser nginx apt page wasm test test-rust test-python test-all test-rest test-rest-rust test-rest-python repeat deep quick quic test-quic test-quic-rust libelf kernel test-kernel-rust kernel-qemu kernel-guest wheel lint lint-rust lint-python lint-prose lint-fuzz lint-systems lint-web bench-smoke bench-instructions bench-page fuzz same-bits screenshots bpf clean
.DEFAULT_GOAL := run

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## set up, then run a first scenario; its picture is target/first/picture.png
	rm -rf target/first
	$(BIN)/fullpipe run scenarios/cubic-vs-bbr1.toml --out target/first

setup: $(READY) ## install the command into .venv
setup-dev: $(READY_DEV) ## ... and the requirements of tests and lints
setup-all: $(READY_ALL) ## ... and Ray, DuckDB, obstore with a local S3 server, scikit-learn, and Zensical

extra: $(READY) ## install an extra: make extra EXTRA=gym; extras are attack, cloud, gym, identify and ray
	$(ALONE) $(UV) sync --locked --inexact --no-dev --extra $(or $(EXTRA),$(error write make extra EXTRA=gym, or another extra))

docs: $(READY) ## build target/site: the documentation as a site, with the gallery
	$(ALONE) $(UV) sync --locked --inexact --group docs
	$(BIN)/python tools/site.py

gallery: setup ## write target/gallery.html: all scenarios with plots (half a minute)
	$(BIN)/fullpipe explore --gallery --out target/gallery.html

OBSERVATORY := target/observatory

observatory: setup $(ENGINE) ## write target/observatory/site: every algorithm on about 600 paths, 30 seeds each (half an hour; it resumes)
	$(BIN)/python -m fullpipe.wings.search.observatory $(OBSERVATORY)

# The Python part is installed in place, so that changing it needs no new build. --inexact keeps the packages that other
# targets installed.
$(READY): $(SOURCES) $(UV)
	$(ALONE) $(UV) sync --locked --inexact --no-dev
	@touch $@

$(READY_RUST): pyproject.toml uv.lock $(UV)
	$(ALONE) $(UV) sync --locked --inexact --only-group rust
	@touch $@

$(READY_DEV): $(READY)
	$(ALONE) $(UV) sync --locked --inexact
	@touch $@

$(READY_ALL): $(READY_DEV)
	$(ALONE) $(UV) sync --locked --inexact --extra ray --extra cloud --extra identify --group others --group docs --group fuzz
	@touch $@

target/tools/bin/uv:
	$(PYTHON) -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# Builds the tests and the extension in parallel, since linking keeps only one core busy.
# The core: scenarios, runs, metrics, checks and the command. Tests of other parts: CONTRIBUTING.md.
QUICK := api architecture check cli controller_errors controllers explain help metrics origin queues slowdown stats suites \
	table topology why workloads

# Files of test modules.
MODULES = $(foreach each,$1,$(wildcard tests/python/*/test_$(each).py tests/python/wings/*/test_$(each).py))

quick: setup-dev $(READY_RUST) ## run the lints that take seconds and the tests of the core: 90 seconds after the build
	cargo fmt --all --check
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/typos
	$(BIN)/python tools/prose.py lint
	$(ALONE) $(BIN)/cargo-nextest nextest run --cargo-profile ci --profile quick
	$(BIN)/pytest --quiet $(call MODULES,$(QUICK))

test: ## run all tests that need no further installation
	$(MAKE) --jobs=2 test-rust setup-dev
	$(MAKE) test-python

# With AGAIN=1, as .ci/run has it, a test that fails runs once more, alone, and counts as flaky if it passes.
PYTEST := $(if $(AGAIN),$(BIN)/python tools/flaky.py )$(BIN)/pytest
NEXTEST := $(ALONE) $(if $(AGAIN),$(BIN)/python tools/flaky.py )$(BIN)/cargo-nextest nextest run --cargo-profile ci

# The crate of the Python extension has no tests here: it is tested from Python.
test-rust: $(READY_RUST) ## run the tests of the crates
	$(NEXTEST)
	$(ALONE) cargo test --quiet --profile ci --doc
	$(ALONE) cargo run --quiet --profile ci --package custom-controller

# Folders and modules of Python tests; empty for all. tools/touched.py prints those that a change can break.
TESTS ?=

test-python: setup-dev ## run the tests in tests/python, or those of TESTS
	$(PYTEST) $(TESTS)

test-all: ## run all tests: `make test`, then `make test-rest`
	$(MAKE) test
	$(MAKE) test-rest

test-rest: test-rest-rust test-rest-python ## run the tests that `make test` skips: installs Chromium, nginx, Ray, DuckDB, Zensical; builds real QUIC and user-mode Linux

test-rest-rust: ## run the tests of real QUIC and of the loader of BPF
	$(MAKE) test-quic-rust test-kernel-rust QUIC_PROFILE=ci KERNEL_PROFILE=ci

# The tests that did not pass in the last run of pytest: it skipped them. A skipped test is a failure now, unless
# tests/python/skips.txt lists it.
test-rest-python: ## run the tests that `make test-python` skipped
	$(MAKE) apt browser nginx setup-all
	$(MAKE) oracle wasm
	$(MAKE) wheel WHEEL=linux QUIC_PROFILE=ci KERNEL_PROFILE=ci
	FULLPIPE_NO_SKIP=1 $(PYTEST) --rest $(TESTS)

# Real time, signals, browsers or random draws decide these.
RACY := attack canned class_waits cluster compare explore explore_edit fleet_ingest_resumed fleet_sample interrupt \
	kernel link link_cc link_confined link_live link_machine link_packets link_programs objects population programs ray \
	recipes report_browser report_views reproduce_on run_lines score score_contained sweep sweep_on sweep_until terminal \
	uml unrepeatable workload
REPEAT ?= 20

repeat: setup-dev ## run the tests that could fail by chance REPEAT=20 times
	for round in $$(seq $(REPEAT)); do $(BIN)/pytest --quiet $(call MODULES,$(RACY)) || exit 1; done

DEEP := damage faults interrupt evaluate_stack differential explore judge_rules published_kernel relations site validate

# A skipped test is a failure here, too.
deep: apt browser nginx setup-all oracle wasm ## run the tests whose depth is a number with that of a release
	FULLPIPE_NO_SKIP=1 FULLPIPE_DEEP=1 $(BIN)/pytest $(call MODULES,$(DEEP))

oracle: ## build user-mode Linux, for Linux's TCP in simulated time (--on uml): 6 minutes, into the user's cache
	oracle/build

# Where cargo puts the programs of a profile.
BUILT = $${CARGO_TARGET_DIR:-target}/$(if $(filter dev,$1),debug,$1)

# The program and its tests share one build; QUIC_PROFILE=ci has assertions.
QUIC_PROFILE ?= quic

quic: setup ## build real QUIC (--on quic) and install it next to the command, a few minutes
	$(ALONE) cargo build --locked --package fullpipe-quic --profile $(QUIC_PROFILE)
	install $(call BUILT,$(QUIC_PROFILE))/fullpipe-quic $(BIN)/

# libelf and zlib are linked into the program, so that it runs where they are not installed.
KERNEL_PROFILE ?= release
KERNEL_ENV = env -u MAKEFLAGS -u MFLAGS LIBBPF_SYS_LIBRARY_PATH=$$(pkg-config --variable=libdir libelf)

libelf:
	@missing=$$(pkg-config --exists libelf || echo libelf-dev; pkg-config --exists zlib || echo zlib1g-dev); \
	if test -n "$$missing"; then apt-get update -qq && apt-get install -qq --no-install-recommends $$missing; fi

kernel: setup bpf libelf ## build the loader of `fullpipe kernel` with its BPF objects, and install them next to the command, a minute
	$(KERNEL_ENV) cargo build --locked --package fullpipe-kernel --profile $(KERNEL_PROFILE)
	install $(call BUILT,$(KERNEL_PROFILE))/fullpipe-kernel $(BIN)/
	install -D --mode=644 --target-directory=$(BIN)/fullpipe-bpf bpf/out/*.bpf.o

test-kernel-rust: kernel $(READY_RUST)
	$(KERNEL_ENV) $(NEXTEST) --package fullpipe-kernel

kernel-qemu: setup kernel ## load every BPF algorithm on Debian's 6.1 and 6.12 kernels, in QEMU without KVM: two minutes
	@missing=$$(for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static; do \
	  command -v $${pair%:*} > /dev/null || echo $${pair#*:}; done); \
	if test -n "$$missing"; then apt-get update -qq && apt-get install -qq --no-install-recommends $$missing; fi
	$(BIN)/python tools/kernel_qemu.py

kernel-guest: setup kernel ## cells of the kernel oracle, ECN and cost of the BPF algorithms, in QEMU on a clock of instructions (half an hour)
	@missing=$$(for pair in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static ethtool:ethtool tc:iproute2 xz:xz-utils; do \
	  command -v $${pair%:*} > /dev/null || echo $${pair#*:}; done); \
	if test -n "$$missing"; then apt-get update -qq && apt-get install -qq --no-install-recommends $$missing; fi
	$(BIN)/python tools/kernel_guest.py

# Zig links against the C library of 2012, so that the wheel works on every Linux distribution since then. WHEEL=linux is for
# this machine only; it takes what setup and quic have built.
WHEEL ?= manylinux2014
WHEEL_TARGET := $(shell uname -m)-unknown-linux-gnu

# The commit for `fullpipe --version`. Without .git, as in a container: make wheel COMMIT=…
COMMIT ?= $(shell git describe --always --dirty '--exclude=*' --abbrev=12 2> /dev/null)

# fullpipe-kernel is linked against this machine's C library in both: the kernels that it is for, since Linux 6.4, come with
# newer ones than Debian 12.
wheel: $(UV) $(ENGINE) kernel $(if $(filter linux,$(WHEEL)),quic) ## build a wheel with real QUIC and the simulator for pages, and an sdist, into target/dist: ten minutes (WHEEL=linux: from existing builds)
	$(ALONE) $(UV) sync --locked --inexact --only-group wheel
	rm -rf target/dist python/fullpipe/_bin && mkdir -p target/dist python/fullpipe/_bin
	printf '%s\n' "$(COMMIT)" > python/fullpipe/_commit
	install -s $(BIN)/fullpipe-kernel python/fullpipe/_bin/
	install -D --mode=644 --target-directory=python/fullpipe/_bin/fullpipe-bpf $(BIN)/fullpipe-bpf/*
ifeq ($(WHEEL),linux)
	install -s $(BIN)/fullpipe-quic python/fullpipe/_bin/
	$(ALONE) $(BIN)/maturin build --quiet --release --locked --compatibility linux --out target/dist
else
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ALONE) cargo zigbuild --locked --package fullpipe-quic --profile quic --target $(WHEEL_TARGET).2.17
	install -s target/$(WHEEL_TARGET)/quic/fullpipe-quic python/fullpipe/_bin/
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ALONE) maturin build --release --locked --zig --compatibility $(WHEEL) --out target/dist
endif
	rm -r python/fullpipe/_bin
	$(ALONE) $(BIN)/maturin sdist --out target/dist
	rm python/fullpipe/_commit
	@ls -lh target/dist

test-quic: test-quic-rust setup-dev ## run the tests of real QUIC
	$(BIN)/pytest tests/python/wings/quic/test_quic.py

test-quic-rust: quic $(READY_RUST)
	$(NEXTEST) --package fullpipe-quic

# Tools that `make oracle` needs, that tests of namespaces, of `fullpipe link` and of completion call, and valgrind.
APT := patch:patch flex:flex bison:bison bc:bc xz:xz-utils ip:iproute2 tc:iproute2 unshare:util-linux setpriv:util-linux \
	ping:iputils-ping iperf3:iperf3 tcpdump:tcpdump curl:curl zsh:zsh fish:fish valgrind:valgrind \
	gtlsserver:ngtcp2-server gtlsclient:ngtcp2-client

apt:
	@missing=$$(for pair in $(APT); do command -v $${pair%:*} > /dev/null || echo $${pair#*:}; done | sort -u); \
	if test -n "$$missing" || ! apt-cache show linux-source-6.1 > /dev/null 2>&1; then apt-get update -qq; fi; \
	test -z "$$missing" || apt-get install -qq --no-install-recommends $$missing

# Objects work on every kernel with BTF, so they are built once, for the wheel.
BPF_TOOLS := clang:clang llvm-strip:llvm
BPF_HEADERS := /usr/include/bpf/bpf_helpers.h

bpf: ## build the congestion controls for Linux' TCP (BPF) into bpf/out; installs clang where it may
	@missing=$$(for pair in $(BPF_TOOLS); do command -v $${pair%:*} > /dev/null || echo $${pair#*:}; done; \
	  test -e $(BPF_HEADERS) || echo libbpf-dev); \
	if test -n "$$missing"; then apt-get update -qq && apt-get install -qq --no-install-recommends $$missing; fi
	$(MAKE) --no-print-directory --directory bpf

browser: web/node_modules/.ready ## install Chromium and npm's packages, for the tests of reports
	command -v chromium || (apt-get update -qq && apt-get install -qq --no-install-recommends chromium)

nginx: ## install nginx, for the test that reads its log
	command -v nginx || test -x /usr/sbin/nginx || (apt-get update -qq && apt-get install -qq --no-install-recommends nginx-light)

# Not `npm ci`: it requires the builds of Biome for all platforms in the lock, and not every registry has them.
web/node_modules/.ready: web/package-lock.json
	npm install --prefix web --no-save --silent --no-audit --no-fund
	@touch $@

# The bundle is in the repository, so that an installation needs no Node. Versions: web/package.json.
page: web/node_modules/.ready ## build the scripts of reports and of `fullpipe explore` from web/src
	npm run --prefix web --silent build
	npm run --prefix web --silent build-explore
	npm run --prefix web --silent build-observatory
	cp web/node_modules/uplot/LICENSE python/fullpipe/report/assets/uPlot.LICENSE

wasm: $(ENGINE) ## build the simulator for pages, which `fullpipe explore` needs, two minutes

$(ENGINE): $(SOURCES)
	rustup target list --installed | grep -q wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown
	$(ALONE) cargo build --quiet --package fullpipe-wasm --profile wasm --target wasm32-unknown-unknown
	gzip -9nc $${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/wasm/fullpipe_wasm.wasm > $@

screenshots: setup-dev browser ## make the pictures of report pages in docs/images
	$(BIN)/python tools/screenshots.py

lint: lint-rust lint-python ## run rustfmt, clippy, rustdoc, ruff and mypy; check type stubs, pages, spelling and prose

# In the tests' profile, so that scripts and macros of the crates' builds are compiled once for both.
lint-rust: libelf
	cargo fmt --all --check
	$(KERNEL_ENV) cargo clippy --locked --profile ci --workspace --features fullpipe-benches/criterion --all-targets -- --deny warnings
	$(KERNEL_ENV) RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --locked --profile ci --no-deps --workspace

lint-python: setup-dev lint-prose lint-web
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest fullpipe._core
	$(BIN)/hadolint --ignore DL3008 Containerfile examples/artifact/Containerfile  # packages come from one release of Debian

# Its program needs libFuzzer, which is C++; the targets are linted with the workspace.
lint-fuzz: ## run clippy on the program of the fuzz targets
	cargo clippy --locked --package fullpipe-fuzz --features libfuzzer --bins -- --deny warnings

# Compiled, not run: fullpipe has not run on these systems yet. A C compiler for them is not needed.
SYSTEMS := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc

lint-systems: ## check the simulator for pages, and that the extension compiles for Linux on aarch64, macOS and Windows
	rustup target add $(SYSTEMS) wasm32-unknown-unknown
	cargo clippy --quiet --locked --package fullpipe-wasm --target wasm32-unknown-unknown -- --deny warnings
	for target in $(SYSTEMS); do PYO3_NO_PYTHON=1 cargo check --quiet --locked --package fullpipe-python --target $$target || exit 1; done

lint-prose: setup-dev ## check spelling, and patterns that make a text hard to read
	$(BIN)/typos
	$(BIN)/python tools/prose.py lint

lint-web:
	@if test -e web/node_modules/.ready; then web/node_modules/.bin/biome check --error-on-warnings && npm run --prefix web --silent check && node web/workflows.mjs; \
	else echo "web: not linted; run make browser to install the linter"; fi

bench-smoke: ## check that the benchmarks run, not their speed
	cargo bench --package fullpipe-benches --features criterion -- --test

bench-instructions: ## count instructions per packet (callgrind) and compare with benches/instructions.txt
	@command -v valgrind > /dev/null || $(MAKE) apt
	cargo bench --package fullpipe-benches --bench instructions

bench-page: setup $(ENGINE) ## measure the page of explore in Chromium: size, first picture, slider to picture
	$(BIN)/fullpipe explore --out target/explore.html
	node web/slider.mjs $$(command -v chromium || command -v chromium-browser || command -v google-chrome) target/explore.html

same-bits: setup ## compare the trace hashes of all scenarios: debug, release, WebAssembly and (emulated) aarch64
	command -v qemu-aarch64 aarch64-linux-gnu-gcc || \
	  (apt-get update -qq && apt-get install -qq --no-install-recommends qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
	rustup target add wasm32-unknown-unknown aarch64-unknown-linux-gnu
	$(BIN)/python tools/same_bits.py

FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FUZZ_TARGETS ?=

# cargo-fuzz builds with stable Rust if that accepts the options of nightly Rust. Python's targets have no build.
fuzz: $(READY) ## fuzz each target for FUZZ_SECONDS=60, going on from the previous run
	$(ALONE) $(UV) sync --locked --inexact --no-dev --group fuzz
	$(ALONE) RUSTC_BOOTSTRAP=1 $(BIN)/cargo-fuzz fuzz build --sanitizer none --features libfuzzer --target-dir target/fuzz
	$(BIN)/python tools/fuzz.py run --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

clean: ## remove everything built or installed here; what remains is ~/.cache/fullpipe (user-mode Linux)
	rm -rf target .venv python/fullpipe/*.so python/fullpipe/_bin python/fullpipe/_commit web/node_modules
