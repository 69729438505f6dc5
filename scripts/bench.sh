#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures this client beside its peers, on a development server or on AEROSPIKE_HOST and
# AEROSPIKE_PORT. BENCH_ROUNDS (15) makes it shorter or longer; other arguments go to the program.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh bench
scripts/install.sh
build bench floor_bench fill_bench
exec "$venv_python" bench/micro --programs build/bench/bench/c --rounds "${BENCH_ROUNDS:-15}" "$@"
