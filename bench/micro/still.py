# SPDX-License-Identifier: Apache-2.0
"""What does not need a server: time of an import, size on disk, ns per filled cell."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fleet import is_there

# The client is loaded too, where a package puts that off.
IMPORTS = {
    "bare": "pass",
    "aeroloop": "import aeroloop; aeroloop.client, aeroloop.AsyncClient",
    "aerospike": "import aerospike; aerospike.client",
    "aerospike_py": "import aerospike_py; aerospike_py.client",
    "aerospike_native": "import aerospike_native; aerospike_native.new_client",
}


def import_times(rounds: int) -> dict[str, list[float]]:
    """Milliseconds of a fresh interpreter that imports; `bare` imports nothing."""
    codes = {
        name: code for name, code in IMPORTS.items() if name == "bare" or is_there(name)
    }
    times: dict[str, list[float]] = {name: [] for name in codes}
    for number in range(-1, rounds):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            if number >= 0:  # the first fills the caches of files
                times[name].append((time.perf_counter() - start) * 1e3)
    return times


def extension_of(package: str) -> Path:
    """The shared object of a package, which may be all of it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    origin = Path(spec.origin)
    return origin if origin.suffix == ".so" else next(origin.parent.glob("*.so"))


def stripped_size(path: Path) -> int:
    strip = shutil.which("strip")
    if strip is None:
        return path.stat().st_size
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / path.name
        subprocess.run([strip, "-o", str(out), str(path)], check=True)
        return out.stat().st_size


def sizes() -> dict[str, int]:
    """Bytes of each extension, stripped."""
    return {
        name: stripped_size(extension_of(name))
        for name in IMPORTS
        if name != "bare" and is_there(name)
    }


def fill_lines(program: Path, rounds: int) -> dict[str, float]:
    """Median ns per cell of each case of bench/c/fill_bench.c."""
    run = subprocess.run(
        [str(program), str(rounds)], check=True, stdout=subprocess.PIPE, text=True
    )
    found = re.findall(r"^(.+?) +([\d.]+) \[ *[\d.]+ +\.\.", run.stdout, re.MULTILINE)
    return {name.strip(): float(value) for name, value in found}
