# SPDX-License-Identifier: Apache-2.0
"""The examples run, against a development server."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from types import ModuleType

import pytest

from support import repo

EXAMPLES = repo.ROOT / "examples"


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def seed_address(aerospike_devserver):
    return aerospike_devserver.hosts[0]


def test_fastapi_app_stores_reads_and_scores(seed_address, monkeypatch):
    testclient = pytest.importorskip("fastapi.testclient")
    monkeypatch.setenv("AEROSPIKE_HOST", seed_address[0])
    monkeypatch.setenv("AEROSPIKE_PORT", str(seed_address[1]))

    with testclient.TestClient(load("fastapi/app.py").app) as http:
        assert http.put("/users/1", json=[1.0] * 8).status_code == 204
        assert http.put("/users/2", json=[0.5] * 8).status_code == 204
        assert http.put("/users/2", json=[0.5] * 7).status_code == 422
        assert http.get("/users/1").json() == {f"f{i}": 1.0 for i in range(8)}
        assert http.get("/users/999").status_code == 404
        answer = http.post("/scores", json=[1, 2, 999])
    assert answer.json() == {"1": 12.0, "2": 6.0, "999": None}


@pytest.mark.parametrize("own_cluster", [True, False], ids=["own", "given"])
def test_demo_reads_what_it_stored(own_cluster, seed_address):
    environment = {k: v for k, v in os.environ.items() if "AEROSPIKE" not in k}
    if not own_cluster:
        host, port = seed_address
        environment |= {"AEROSPIKE_HOST": host, "AEROSPIKE_PORT": str(port)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo", "--seconds", "0", "--no-digits"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # 10,000 records of 69 bins, in three sizes and two forms, sync and async.
    assert done.stdout.count("4,140,000 values read, all as they were stored") == 2
    assert ("10,000 records removed" in done.stdout) == (not own_cluster)


def test_program_of_the_readme_runs():
    text = (repo.ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(100, 2) False\n"


def test_public_c_calls_of_the_readme_exist():
    text = (repo.ROOT / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```c\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    headers = "".join(p.read_text() for p in repo.sources("include", ".h"))
    calls = set(re.findall(r"\baero_\w+(?=\()", program))
    assert len(calls) > 3
    assert {name for name in calls if f"{name}(" not in headers} == set()
