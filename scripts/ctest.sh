#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the C tests of the given CMake presets, one after the other.
source "$(dirname "$0")/common.sh"

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1 second_deadlock_stack=1}

scripts/bootstrap.sh test
for preset in "$@"; do
    say "C tests: $preset"
    build "$preset"
    # Kernels with a large random offset of memory maps confuse older ThreadSanitizers.
    run=()
    [ "$preset" = tsan ] && setarch -R true 2>/dev/null && run=(setarch -R)
    # One at a time: many of them have time-outs to keep, and threads of their own.
    "${run[@]}" ctest --preset "$preset"
done
