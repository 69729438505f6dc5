# SPDX-License-Identifier: Apache-2.0
# Names for newcomers: each target calls a script or CMake, which do the work.
.DEFAULT_GOAL := help
.PHONY: help demo test bench lint format fuzz tsan asan soak bootstrap install clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: ## store and read thousands of records; AEROSPIKE_HOST=... AEROSPIKE_PORT=... for a real cluster
	@AEROSPIKE_HOST="$(AEROSPIKE_HOST)" AEROSPIKE_PORT="$(AEROSPIKE_PORT)" scripts/demo.sh

test: ## all tests: C (release, and ASan+UBSan), then Python
	@scripts/test.sh

soak: ## the long loops of the Python tests in full
	@AEROLOOP_SOAK=1 scripts/pytest.sh

asan: ## the C tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/ctest.sh asan

tsan: ## the C tests under ThreadSanitizer
	@scripts/ctest.sh tsan

fuzz: ## each fuzz target for FUZZ_SECONDS (60)
	@FUZZ_SECONDS="$(FUZZ_SECONDS)" scripts/fuzz.sh

bench: ## measure beside the peers, BENCH_ROUNDS=15; see bench/RESULTS.md
	@AEROSPIKE_HOST="$(AEROSPIKE_HOST)" AEROSPIKE_PORT="$(AEROSPIKE_PORT)" BENCH_ROUNDS="$(BENCH_ROUNDS)" scripts/bench.sh

lint: ## clang-format, clang-tidy, ruff, mypy, stubtest
	@scripts/lint.sh

format: ## rewrite the sources in the project's format
	@scripts/format.sh

bootstrap: ## install what the build needs, and nothing else
	@scripts/bootstrap.sh test

install: ## the Python package into .venv
	@scripts/install.sh

clean: ## remove all that was built, except .venv
	rm -rf build
