#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All tests. Stops at the first runner that fails.
source "$(dirname "$0")/common.sh"

scripts/ctest.sh release asan
scripts/pytest.sh
