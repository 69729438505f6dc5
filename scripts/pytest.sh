#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Python tests: those that need the machine for themselves, then the rest in parallel.
# Arguments go to pytest; with any, there is one run, and it is not parallel.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh test
scripts/install.sh
if [ $# -gt 0 ]; then
    exec "$venv_python" -m pytest "$@"
fi
say "Python tests that need the machine for themselves"
status=0
"$venv_python" -m pytest -q -m serial || status=$?
[ $status -eq 0 ] || [ $status -eq 5 ] || exit $status # 5: there is none
say "Python tests"
"$venv_python" -m pytest -q -n "$(jobs_count)" --dist loadfile -m "not serial"
