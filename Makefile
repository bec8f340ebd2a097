# SPDX-License-Identifier: Apache-2.0
# The short names of what CMake presets and scripts do.  `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo check build wheel install packages package-check format lint fuzz bench docs-figures docs-plots docs-parameters docs-commands docs-collections gpu-check convert-check storm faults farm-check clean
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
STORM_PRESET ?= release
COLLECTIONS = $(patsubst %,collections/%.yaml,spacepoints hits tracks doublets vertices paths voxels)
export CMAKE_BUILD_PARALLEL_LEVEL = $(JOBS)
CCACHE := $(shell command -v ccache 2>/dev/null)
ifneq ($(CCACHE),)
export CMAKE_C_COMPILER_LAUNCHER = $(CCACHE)
endif

# Chips that kernels are compiled for in `make check` and `make lint`, all where a GPU is; of the oldest to PTX only.  `make build` and
# packages are for all.
CHECK_CHIPS ?= $(if $(wildcard /dev/nvidiactl),,75-virtual;90)
check lint: export TRIGD_CHIPS = $(CHECK_CHIPS)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1 /p' Makefile | awk '{printf "  %s %-16s", $$1, $$2; $$1 = $$2 = ""; print}'

demo: build ## install what is missing, build, run a sample through the daemon, print a summary
	tools/demo build/release

build: ## install what is missing for it and build the release preset
	tools/setup build
	cmake --preset release
	cmake --build --preset release

check: ## install, build and run every test, also under the sanitizers
	tools/setup check
	cmake --preset release
	cmake --build --preset release
	ctest --test-dir build/release --output-on-failure --no-tests=error -j $$(($(JOBS) * 2)) # two of them suites; many of the others wait

wheel: build ## the package trigd for Python as build/release/trigd-VERSION-py3-none-any.whl
	cmake --build build/release --target wheel

install: ## build what is installed, no tests, and install it under PREFIX (default /usr/local)
	tools/setup build
	cmake --preset install -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build --preset install
	cmake --install build/install

packages: ## Debian packages for this release of Debian, and a tarball, into build/package
	tools/setup package
	cmake --preset package
	cmake --build --preset package
	cd build/package && cpack -G DEB && cpack -G TGZ

package-check: packages ## install, use, upgrade and purge the packages in a bare Debian of this release
	tools/setup package-check
	packaging/check build/package

format: ## put every C file into the project's format
	git ls-files -z '*.c' '*.h' | xargs -0 clang-format-14 -i

lint: ## the checks of format, headers, includes, calls, links and clang-tidy alone
	tools/setup check
	cmake --preset release
	cmake --build --preset release
	ctest --test-dir build/release --output-on-failure -L lint

fuzz: ## run every fuzz target for FUZZ_SECONDS (default 600) on a copy of its corpus
	tools/setup check
	cmake --preset fuzz
	cmake --build --preset fuzz
	tools/fuzz build/fuzz $(or $(FUZZ_SECONDS),600)

bench: build ## run the benchmarks; tables for people on the terminal, JSON into build/results
	tools/bench build/release build/results

convert-check: build ## install the packages of tools/trigconvert from PyPI and test the conversions
	tools/setup convert
	ctest --test-dir build/release --output-on-failure -R "^(trigconvert|histograms.files)$$"

storm: ## break a daemon and its clients at random for STORM_SECONDS (default 7200), built by STORM_PRESET; report in build/storm.md
	tools/setup check
	cmake --preset $(STORM_PRESET)
	cmake --build build/$(STORM_PRESET) --target storm
	tests/storm/storm build/$(STORM_PRESET) --seconds $(or $(STORM_SECONDS),7200) --phase-seconds 3 --tail 3 --findings 20 --report build/storm.md \
		--json build/storm.jsonl $(STORM_OPTIONS)

faults: build ## let every call below the daemon fail once, over start, reload and 1,000 RoIs; failures into build/faults.jsonl
	tests/faults/faults build/release --scene cpu --scene thread --scene opencl --scene gpu --json build/faults.jsonl

farm-check: build ## a farm of four nodes under a real Slurm on this host: nodes killed, stopped, upgraded, scaled, guests preempted
	tools/setup check
	tests/farm/slurm build/release

docs-figures: ## make docs/performance.md again from docs/results, and build/figures.md with every figure
	mkdir -p build
	tools/report/performance --all build/figures.md docs/results docs/figures.toml docs/performance.md
	tools/report/figures --write .

docs-plots: ## draw the plots of the docs again from docs/results; installs mplhep from PyPI into build/plots
	[ -x build/plots/bin/python ] || python3 -m venv build/plots
	build/plots/bin/pip install --quiet mplhep
	build/plots/bin/python tools/report/plots

docs-parameters: build ## make docs/parameters.md again from the descriptors of the plugins
	tools/report/plugins build/release docs/parameters.md

docs-commands: build ## make docs/commands.md again from the programs' tables of options and commands
	tools/report/manual build/release --docs docs/commands.md

docs-collections: ## make the tables of docs/collections.md again from the declarations
	cmake/trg_declare.py docs docs/collections.md $(COLLECTIONS)

gpu-check: ## on a machine with a GPU: parity tests and the parts of tests/gpu/run in GPU_PARTS into gpu-results
	tests/gpu/run gpu-results build/gpu $(GPU_PARTS)

clean: ## remove build/
	rm -rf build
