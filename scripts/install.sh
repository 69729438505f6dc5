#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package and installs it into .venv; a second call compiles what changed.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh
say "Building the Python package"
"$venv_python" -m pip install --quiet --disable-pip-version-check \
    --no-build-isolation --no-deps --config-settings=build-dir=build/python .
