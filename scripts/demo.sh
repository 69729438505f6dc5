#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs the demo: against a development cluster of its own,
# or against AEROSPIKE_HOST and AEROSPIKE_PORT when they are set.
source "$(dirname "$0")/common.sh"

scripts/bootstrap.sh demo
scripts/install.sh
exec "$venv_python" examples/demo
