# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs, with samples of one call. Nothing here looks at a time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from support import repo

BENCH = repo.ROOT / "bench" / "micro"
PROGRAMS = repo.ROOT / "build" / "bench" / "bench" / "c"


@pytest.fixture(scope="session")
def programs():
    """The programs in C, built as `make bench` does it."""
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("needs cmake and ninja")
    for command in (
        ["cmake", "--preset", "bench", "--log-level=WARNING"],
        ["cmake", "--build", "--preset", "bench"],
    ):
        subprocess.run(command, cwd=repo.ROOT, check=True, stdout=subprocess.DEVNULL)
    return PROGRAMS


@pytest.mark.slow
def test_all_cases_run_and_make_a_page(programs, tmp_path):
    command = [sys.executable, str(BENCH), "--programs", str(programs)]
    options = ["--tiny", "--rounds=1", f"--out={tmp_path}"]
    run = subprocess.run(
        command + options, check=True, timeout=300, stdout=subprocess.PIPE, text=True
    )
    results = json.loads((tmp_path / "micro.json").read_text())
    assert results["versions"]["aeroloop"]
    for case in results["cases"]:
        assert len(case["samples"]["aeroloop"]) == 1, case["title"]
    page = (tmp_path / "micro.md").read_text()
    assert "batch_read 2,000 → NumPy" in page
    assert "import over a bare interpreter" in run.stdout
