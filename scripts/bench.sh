#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures aeroloop beside its peers, BENCH_ROUNDS (15) interleaved rounds: on a development server
# of its own, or on AEROSPIKE_HOST and AEROSPIKE_PORT. Arguments go to bench/micro. The page that
# it writes to bench/results is what bench/RESULTS.md was made from.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh bench
scripts/install.sh
say "Building the C benchmarks"
build bench
say "Measuring"
exec "$venv_python" bench/micro --programs build/bench/bench/c --rounds "${BENCH_ROUNDS:-15}" "$@"
