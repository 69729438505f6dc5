#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target for FUZZ_SECONDS on a corpus that grows in build/fuzz-corpus.
# Arguments choose targets; without any, all run.
source "$(dirname "$0")/common.sh"

seconds=${FUZZ_SECONDS:-60}
scripts/bootstrap.sh fuzz
say "Building the fuzz targets"
CC=$(find_clang) build fuzz
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(find build/fuzz/tests/fuzz -maxdepth 1 -name '*_fuzz' -type f -perm -u+x -printf '%f\n' | sort)
fi
[ ${#targets[@]} -gt 0 ] || die "no fuzz target was built"
for target in "${targets[@]}"; do
    name=${target%_fuzz}
    corpus=build/fuzz-corpus/$name
    seeds=tests/fuzz/corpus/$name
    log=build/fuzz-corpus/$name.log
    corpora=("$corpus")
    mkdir -p "$corpus"
    [ ! -d "$seeds" ] || corpora+=("$seeds")
    say "$name, $seconds s"
    if ! build/fuzz/tests/fuzz/"$target" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz-corpus/$name-" \
        "${corpora[@]}" >"$log" 2>&1; then
        cat "$log"
        die "$name: a finding; the input is beside $log"
    fi
    sed -n 's/^stat::number_of_executed_units: */    inputs tried: /p' "$log"
done
say "No finding in ${#targets[@]} targets"
