#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program against a development server, and look for a text in what it prints.

    with_devserver.py SERVER TEXT PROGRAM [ARG...]

The program gets host and port of the first node as its last arguments."""

import importlib.util
import subprocess
import sys
from pathlib import Path

# The module by its path: the package around it would need the built extension.
_SOURCE = Path(__file__).parents[2] / "python" / "aeroloop" / "devserver.py"
_SPEC = importlib.util.spec_from_file_location("devserver", _SOURCE)
devserver = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(devserver)


def main() -> int:
    server_program, text, *command = sys.argv[1:]
    with devserver.DevServer(nodes=3, program=server_program) as server:
        host, port = server.hosts[0]
        done = subprocess.run(
            [*command, host, str(port)], stdout=subprocess.PIPE, text=True, check=False
        )
    sys.stdout.write(done.stdout)
    if text not in done.stdout:
        sys.exit(f"not printed: {text}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
