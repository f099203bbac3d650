# Two commands are enough: `make run` and `make test`. Each installs its requirements once. `make help` lists the others.

PYTHON ?= python3
UV := $(shell command -v uv || echo target/tools/bin/uv)
UV_VERSION := 0.13.9
BIN := .venv/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
READY_ALL := .venv/.ready-all
ENGINE := python/fullpipe/explore/assets/engine.wasm.gz

# Files from which the package is built.
SOURCES := Cargo.toml Cargo.lock pyproject.toml uv.lock $(filter-out crates/quic/% crates/kernel/%,$(wildcard crates/*/Cargo.toml crates/*/profiles/*.toml crates/*/presets/*.toml) $(shell find crates/*/src -name '*.rs'))

# Keeps cargo from joining make's job server when targets run in parallel.
ALONE := env -u MAKEFLAGS -u MFLAGS

export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON := $(PYTHON)
# Compile once here, rather than in the first run of every command.
export UV_COMPILE_BYTECODE := 1

.PHONY: help run extra docs gallery observatory setup setup-dev setup-all oracle browser nginx apt page wasm test test-rust test-python test-all quic test-quic test-quic-rust kernel test-kernel-rust kernel-qemu kernel-guest wheel lint lint-prose lint-quic lint-kernel lint-fuzz lint-systems lint-web bench-smoke bench-instructions bench-page fuzz same-bits screenshots bpf clean
.DEFAULT_GOAL := run

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Exit code 1 means that a cell of the table was missed. That is a finding, printed with its reason, not a failed set-up.
run: setup ## set up, then reproduce a published table
	$(BIN)/fullpipe reproduce microsoft || test $$? -eq 1

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
	$(BIN)/python -m fullpipe.observatory $(OBSERVATORY)

# The Python part is installed in place, so that changing it needs no new build. --inexact keeps the packages that other
# targets installed.
$(READY): $(SOURCES) $(UV)
	$(ALONE) $(UV) sync --locked --inexact --no-dev
	@touch $@

$(READY_DEV): $(READY)
	$(ALONE) $(UV) sync --locked --inexact
	@touch $@

$(READY_ALL): $(READY_DEV)
	$(ALONE) $(UV) sync --locked --inexact --extra ray --extra cloud --extra identify --group others --group docs
	@touch $@

target/tools/bin/uv:
	$(PYTHON) -m venv target/tools
	target/tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

# Builds the tests and the extension in parallel, since linking keeps only one core busy.
test: ## run all tests that need no further installation
	$(MAKE) --jobs=2 test-rust setup-dev
	$(MAKE) test-python

# The crate of the Python extension has no tests here: it is tested from Python.
test-rust: ## run the tests of the crates
	$(ALONE) cargo test --quiet
	$(ALONE) cargo run --quiet --package custom-controller

test-python: setup-dev ## run the tests in tests/python
	$(BIN)/pytest

# A skipped test is a failure unless tests/python/skips.txt lists it.
test-all: ## run all tests: installs Chromium, nginx, Ray, DuckDB and Zensical, builds real QUIC and user-mode Linux
	$(MAKE) apt browser nginx
	$(MAKE) --jobs=2 test-rust setup-all
	$(MAKE) oracle wasm
	$(MAKE) test-quic-rust QUIC_PROFILE=dev
	$(MAKE) test-kernel-rust
	$(MAKE) wheel WHEEL=linux QUIC_PROFILE=dev
	FULLPIPE_NO_SKIP=1 $(MAKE) test-python

oracle: ## build user-mode Linux, for Linux's TCP in simulated time (--on uml): 6 minutes, into the user's cache
	oracle/build

# The program and its tests share one build. QUIC_PROFILE=dev has assertions and builds faster.
QUIC_PROFILE ?= release
QUIC := --manifest-path crates/quic/Cargo.toml --target-dir target/quic --locked

quic: setup ## build real QUIC (--on quic) and install it next to the command, a few minutes
	$(ALONE) cargo build $(QUIC) --profile $(QUIC_PROFILE)
	install target/quic/$(if $(filter dev,$(QUIC_PROFILE)),debug,$(QUIC_PROFILE))/fullpipe-quic $(BIN)/

# libelf and zlib are linked into the program, so that it runs where they are not installed.
KERNEL_PROFILE ?= release
KERNEL := --manifest-path crates/kernel/Cargo.toml --target-dir target/kernel --locked
KERNEL_PROGRAM := target/kernel/$(if $(filter dev,$(KERNEL_PROFILE)),debug,$(KERNEL_PROFILE))/fullpipe-kernel
KERNEL_ENV = env -u MAKEFLAGS -u MFLAGS LIBBPF_SYS_LIBRARY_PATH=$$(pkg-config --variable=libdir libelf)

kernel: setup bpf ## build the loader of `fullpipe kernel` with its BPF objects, and install them next to the command, a minute
	@missing=$$(pkg-config --exists libelf || echo libelf-dev; pkg-config --exists zlib || echo zlib1g-dev); \
	if test -n "$$missing"; then apt-get update -qq && apt-get install -qq --no-install-recommends $$missing; fi
	$(KERNEL_ENV) cargo build $(KERNEL) --profile $(KERNEL_PROFILE)
	install $(KERNEL_PROGRAM) $(BIN)/
	install -D --mode=644 --target-directory=$(BIN)/fullpipe-bpf bpf/out/*.bpf.o

test-kernel-rust: kernel
	$(KERNEL_ENV) cargo test --quiet $(KERNEL) --profile $(KERNEL_PROFILE)

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

# fullpipe-kernel is linked against this machine's C library in both: the kernels that it is for, since Linux 6.4, come with
# newer ones than Debian 12.
wheel: $(UV) $(ENGINE) kernel $(if $(filter linux,$(WHEEL)),quic) ## build a wheel with real QUIC and the simulator for pages, and an sdist, into target/wheels: ten minutes (WHEEL=linux: from existing builds)
	$(ALONE) $(UV) sync --locked --inexact --only-group wheel
	rm -rf target/wheels python/fullpipe/_bin && mkdir -p target/wheels python/fullpipe/_bin
	install -s $(BIN)/fullpipe-kernel python/fullpipe/_bin/
	install -D --mode=644 --target-directory=python/fullpipe/_bin/fullpipe-bpf $(BIN)/fullpipe-bpf/*
ifeq ($(WHEEL),linux)
	install -s $(BIN)/fullpipe-quic python/fullpipe/_bin/
	$(ALONE) $(BIN)/maturin build --quiet --release --locked --compatibility linux --out target/wheels
else
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ALONE) cargo zigbuild $(QUIC) --release --target $(WHEEL_TARGET).2.17
	install -s target/quic/$(WHEEL_TARGET)/release/fullpipe-quic python/fullpipe/_bin/
	PATH="$(CURDIR)/$(BIN):$$PATH" $(ALONE) maturin build --release --locked --zig --compatibility $(WHEEL) --out target/wheels
endif
	rm -r python/fullpipe/_bin
	$(ALONE) $(BIN)/maturin sdist --out target/wheels
	@ls -lh target/wheels

test-quic: test-quic-rust setup-dev ## run the tests of real QUIC
	$(BIN)/pytest tests/python/test_quic.py

test-quic-rust: quic
	$(ALONE) cargo test --quiet $(QUIC) --profile $(QUIC_PROFILE)

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

lint: setup-dev lint-prose lint-web ## run rustfmt, clippy, rustdoc, ruff and mypy; check type stubs, spelling and prose
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --no-deps --workspace
	cargo update --quiet --workspace --locked --manifest-path crates/quic/Cargo.toml  # its lock lists the workspace's crates
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest fullpipe._core
	$(BIN)/hadolint --ignore DL3008 Containerfile  # packages come from one release of Debian

lint-quic: ## run rustfmt and clippy on real QUIC
	cd crates/quic && cargo fmt --check
	cargo clippy $(QUIC) --all-targets -- --deny warnings

lint-kernel: ## run rustfmt and clippy on the loader of `fullpipe kernel`
	cd crates/kernel && cargo fmt --check
	$(KERNEL_ENV) cargo clippy $(KERNEL) --all-targets -- --deny warnings

lint-fuzz: ## run rustfmt and clippy on the fuzz targets
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy $(FUZZ) --all-targets -- --deny warnings

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
	cargo bench --package fullpipe-benches -- --test

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

# cargo-fuzz builds with stable Rust if that accepts the options of nightly Rust. Python's targets have no build.
CARGO_FUZZ_VERSION := 0.13.2
# In the user's cache, as user-mode Linux: it takes minutes to build, and does not depend on this repository.
CARGO_FUZZ := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fullpipe/cargo-fuzz-$(CARGO_FUZZ_VERSION)
FUZZ := --manifest-path fuzz/Cargo.toml --target-dir target/fuzz-lint --locked
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FUZZ_TARGETS ?=

fuzz: $(CARGO_FUZZ)/bin/cargo-fuzz $(READY) ## fuzz each target for FUZZ_SECONDS=60, going on from the previous run
	$(ALONE) $(UV) sync --locked --inexact --no-dev --group fuzz
	$(ALONE) RUSTC_BOOTSTRAP=1 $(CARGO_FUZZ)/bin/cargo-fuzz fuzz build --sanitizer none --target-dir target/fuzz
	$(BIN)/python tools/fuzz.py run --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

$(CARGO_FUZZ)/bin/cargo-fuzz:
	$(ALONE) cargo install cargo-fuzz --version $(CARGO_FUZZ_VERSION) --root $(CARGO_FUZZ) --locked --quiet

clean: ## remove everything built or installed here; what remains is ~/.cache/fullpipe (user-mode Linux, cargo-fuzz)
	rm -rf target .venv python/fullpipe/*.so python/fullpipe/_bin web/node_modules
