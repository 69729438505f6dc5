#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All static checks. Runs every one, then fails if any failed.
source "$(dirname "$0")/common.sh"

failed=()
check() { # NAME COMMAND...
    local name=$1
    shift
    say "$name"
    "$@" || failed+=("$name")
}

check_format() {
    c_files | xargs -r clang-format --dry-run --Werror
}

# The compile commands of the build tell the flags of each file.
check_tidy() {
    c_files '*.c' | { grep -E '^(src|examples|python/ext)/' || true; } |
        xargs -r -P "$(jobs_count)" -n 4 clang-tidy --quiet -p build/lint
}

scripts/bootstrap.sh test lint
scripts/install.sh
check "warnings" build lint
check "clang-format" check_format
check "clang-tidy" check_tidy
check "ruff format" ruff format --check .
check "ruff" ruff check .
check "mypy" mypy
check "stubtest" "$venv_python" -m mypy.stubtest aeroloop
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
say "No complaint"
