#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target for FUZZ_SECONDS, as many at a time as there are processors, on a corpus
# that grows in build/fuzz-corpus. Arguments name targets (msg, batch, ...); without any, all run.
source "$(dirname "$0")/common.sh"

seconds=${FUZZ_SECONDS:-60}
programs=build/fuzz/tests/fuzz

fuzz_one() { # NAME
    local corpora=("build/fuzz-corpus/$1") log=build/fuzz-corpus/$1.log
    mkdir -p "${corpora[0]}"
    [ ! -d "tests/fuzz/corpus/$1" ] || corpora+=("tests/fuzz/corpus/$1")
    if ! "$programs/$1_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="build/fuzz-corpus/$1-" "${corpora[@]}" \
        >"$log" 2>&1; then
        cat "$log"
        die "$1: a finding; the input is beside $log"
    fi
    say "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no finding"
}

if [ "${1:-}" = --one ]; then
    fuzz_one "$2"
    exit
fi
scripts/bootstrap.sh fuzz
say "Building the fuzz targets"
CC=$(find_clang) build fuzz
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(find "$programs" -maxdepth 1 -name '*_fuzz' -printf '%f\n' | sed 's/_fuzz$//' | sort)
fi
[ ${#names[@]} -gt 0 ] || die "no fuzz target was built"
say "${#names[@]} targets, $seconds s each"
printf '%s\n' "${names[@]}" | FUZZ_SECONDS=$seconds xargs -P "$(jobs_count)" -n 1 scripts/fuzz.sh --one
