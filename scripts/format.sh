#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites all sources in the project's format.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh lint
c_files | xargs -r clang-format -i
ruff format .
ruff check --fix-only .
