# SPDX-License-Identifier: Apache-2.0
"""The development server answers what a real one answered: the recorded corpus.

One fresh server a topic, all topics at the same time: they mostly wait.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aeroloop.devserver import DevServer

TESTS = Path(__file__).resolve().parent.parent
REPLAY = TESTS / "tools" / "replay_corpus.py"
TIMEOUT = 300

FILTER = "needs filter expressions, which the server does not evaluate yet"

# Scenarios that need what the server has not: they may differ, all others may not.
EXCLUDED = {
    "values": {},
    "single": {"single_filter": FILTER},
    "info": {},
    "tend": {},
    "malformed": {},
    "admin": {},
    "batch": {"batch_read_filter": FILTER},
}
# Of the topic `batch` only the reads are demanded; the others use lists and maps too.
ONLY = {"batch": "^batch_read_"}
# Two of three records live on other nodes than the one that is asked: its answers are
# the same. What tells of the cluster itself is not replayed there.
RUNS = [(name, 1) for name in EXCLUDED]
RUNS += [(name, 3) for name in ("values", "single", "batch")]


class Topic:
    def __init__(self, name, nodes, folder):
        self.report = folder / f"{name}-{nodes}.json"
        self.server = DevServer(nodes=nodes)
        host, port = self.server.hosts[-1]
        command = [sys.executable, str(REPLAY), f"{host}:{port}", "--file", name]
        command += ["--json", str(self.report)]
        if name in ONLY:
            command += ["--only", ONLY[name]]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def results(self):
        if self.process.returncode is None:
            self.output, _ = self.process.communicate(timeout=TIMEOUT)
        assert self.report.exists(), self.output
        return json.loads(self.report.read_text())

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.process.stdout.close()  # nobody asked for its results
        self.server.close()
        assert self.server.returncode == 0


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    running = {}
    try:
        for name, nodes in RUNS:
            running[name, nodes] = Topic(name, nodes, folder)
        yield running
    finally:
        for topic in running.values():
            topic.close()


@pytest.mark.parametrize(("name", "nodes"), RUNS)
def test_answers_are_those_of_a_real_server(topics, name, nodes):
    results = topics[name, nodes].results()
    different = {
        scenario["name"]: scenario["notes"]
        for scenario in results
        if scenario["result"] == "different" and scenario["name"] not in EXCLUDED[name]
    }
    assert different == {}


@pytest.mark.parametrize("name", EXCLUDED)
def test_excluded_scenarios_exist(topics, name):
    """A list of exceptions that names nothing would hide a typing mistake."""
    names = {scenario["name"] for scenario in topics[name, 1].results()}
    assert set(EXCLUDED[name]) <= names
