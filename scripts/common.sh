# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every script here begins with: strict mode, the root as working directory, a few words.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
venv_python=$venv/bin/python

say() {
    printf '\033[1m==> %s\033[0m\n' "$*" >&2
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Tools of the private environment come first: where the system's cmake is too old, it is there.
export PATH="$PWD/$venv/bin:$PATH"

# Prints a clang that can build fuzz targets.
find_clang() {
    local candidate
    for candidate in clang clang-{20,19,18,17,16,15,14}; do
        if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
            "$candidate" -fsanitize=fuzzer,address -x c - -o /dev/null >/dev/null 2>&1; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# build PRESET [TARGET...]: configures when needed, then builds.
build() {
    local preset=$1
    shift
    cmake --preset "$preset" --log-level=WARNING >/dev/null
    cmake --build --preset "$preset" ${1:+--target "$@"}
}

# Prints the C sources of the project: all, or those that match the pattern.
c_files() {
    find include src python/ext tests bench examples -type f \
        \( -name "${1:-*.c}" -o -name "${1:-*.h}" \) | sort
}

jobs_count() {
    getconf _NPROCESSORS_ONLN
}
