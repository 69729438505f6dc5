# SPDX-License-Identifier: Apache-2.0
"""The server's file of settings, its command line, its log and its manual page."""

from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest

from aeroloop.devserver import DevServer, DevServerError, find_program
from support import devwire, repo
from support.devwire import OK, Wire

FORBIDDEN, TOO_BIG, TOO_MANY_ROWS = 22, 13, 151
FULL = """
cluster-name: mine
nodes: 2
port: 0
address: 127.0.0.1
proto-fd-max: 5
batch-max-requests: 3
namespaces:
  - name: cache
    replication-factor: 1
    default-ttl: 1h
    nsup-period: 1
    max-record-size: 2K
  - name: keep
    replication-factor: 1
    nsup-period: 0
    allow-ttl-without-nsup: false
"""


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def server(config):
    with DevServer(config=config(FULL)) as running:
        yield running
    assert running.returncode == 0


@pytest.fixture
def digest(request):
    return random.Random(request.node.nodeid).randbytes(20)


def settings(server, namespace):
    text = server.info(f"get-config:context=namespace;namespace={namespace}")
    return dict(part.split("=") for part in text.split(";"))


def test_the_settings_are_told(server):
    assert server.cluster_name == "mine"
    assert len(server.hosts) == 2
    assert server.info("namespaces") == "cache;keep"
    cache, keep = settings(server, "cache"), settings(server, "keep")
    assert (cache["default-ttl"], cache["nsup-period"]) == ("3600", "1")
    assert (cache["max-record-size"], cache["replication-factor"]) == ("2048", "1")
    assert cache["allow-ttl-without-nsup"] == "true"
    assert (keep["nsup-period"], keep["allow-ttl-without-nsup"]) == ("0", "false")
    assert (keep["default-ttl"], keep["max-record-size"]) == ("0", "1048576")
    service = server.info("get-config:context=service")
    assert "batch-max-requests=3;proto-fd-max=5" in service


def test_the_settings_hold(server, digest):
    with Wire(server.hosts[0]) as wire:
        assert wire.one(devwire.put(digest, {"a": 1}, ns=b"cache")).result == OK
        assert wire.one(devwire.get(digest, ns=b"cache")).void_time > 0
        big = devwire.put(digest, {"a": b"x" * 2048}, ns=b"cache")
        assert wire.one(big).result == TOO_BIG
        with_ttl = devwire.put(digest, {"a": 1}, ns=b"keep", ttl=100)
        assert wire.one(with_ttl).result == FORBIDDEN
        for ttl in (0, 0xFFFFFFFF, 0xFFFFFFFE):
            fine = devwire.put(digest, {"a": 1}, ns=b"keep", ttl=ttl)
            assert wire.one(fine).result == OK
        for count in (3, 4):
            keys = [digest] * count
            body = devwire.row_body(ns=b"cache")
            rows = [devwire.row(i, d, None if i else body) for i, d in enumerate(keys)]
            found, trailer = wire.batch(devwire.batch(rows))
            assert trailer.result == (OK if count == 3 else TOO_MANY_ROWS)
            assert len(found) == (3 if count == 3 else 0)


def test_connections_beyond_the_limit_are_closed_at_once(server):
    wires = [Wire(server.hosts[1]) for _ in range(5)]
    for wire in wires:
        assert wire.info("node") != []
    for _ in range(3):
        with Wire(server.hosts[1]) as more:
            assert more.is_closed()
    wires[0].sock.close()
    for wire in wires[1:]:
        assert wire.info("node") != []
        wire.sock.close()


def test_the_command_line_wins(config):
    path = config(FULL.replace("proto-fd-max: 5", ""))
    with DevServer(
        nodes=1, namespaces=("other", "keep"), cluster_name="line", config=path
    ) as server:
        assert server.cluster_name == "line"
        assert len(server.hosts) == 1
        assert server.info("namespaces") == "other;keep"
        assert settings(server, "keep")["nsup-period"] == "0"
        assert settings(server, "other")["nsup-period"] == "120"


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", '{"nodes": 1}'])
def test_files_that_tell_little(config, text):
    with DevServer(config=config(text)) as server:
        assert server.info("namespaces") == "test;bar"
        assert len(server.hosts) == 1


def test_an_expired_record_is_removed_within_its_period(server, digest):
    with Wire(server.hosts[0]) as wire:
        wire.one(devwire.put(digest, {"a": 1}, ns=b"cache", ttl=100))
        server.advance_clock(200)
        counts = [server.info("namespace/cache", node) for node in range(2)]
        assert sum("expired_objects=1;" in text for text in counts) == 1


BAD = {
    "a list": ("- nodes: 1", "1: the file is not a mapping of keys"),
    "unknown": ("nodse: 1", "1: the file: unknown key 'nodse'; did you mean 'nodes'?"),
    "far": ("zzz: 1", "1: the file: unknown key 'zzz'\n"),
    "underscore": (
        "namespaces:\n- name: a\n  default_ttl: 1",
        "3: a namespace: unknown key 'default_ttl'; did you mean 'default-ttl'?",
    ),
    "twice": ("nodes: 1\nnodes: 2", "2: the file: 'nodes' is there twice"),
    "nodes": ("nodes: 9", "1: 'nodes' is not a number from 1 to 8"),
    "nodes text": ("nodes: [1]", "1: 'nodes' is not a number from 1 to 8"),
    "port": ("port: 65536", "1: 'port' is not a number from 0 to 65535"),
    "address": ("address: localhost", "1: 'address' has a bad value: localhost"),
    "name": ("cluster-name: 'a;b'", "1: 'cluster-name' has a bad value: a;b"),
    "fds": ("proto-fd-max: 0", "1: 'proto-fd-max' is not a number"),
    "rows": ("batch-max-requests: 1k", "1: 'batch-max-requests' is not a number"),
    "no list": ("namespaces: a", "1: 'namespaces' is not a list of 1 to 2"),
    "three": (
        "namespaces: [{name: a}, {name: b}, {name: c}]",
        "1: 'namespaces' is not a list of 1 to 2",
    ),
    "no name": ("namespaces: [{default-ttl: 1}]", "1: a namespace without 'name'"),
    "same name": (
        "namespaces:\n- name: a\n- name: a",
        "3: 'name' has a bad value: a",
    ),
    "long name": (f"namespaces: [{{name: {'n' * 32}}}]", "1: 'name' has a bad value"),
    "ttl": (
        "namespaces: [{name: a, default-ttl: 11y}]",
        "1: 'default-ttl' is not a number from 0 to 315360000",
    ),
    "size": (
        "namespaces: [{name: a, max-record-size: 9M}]",
        "1: 'max-record-size' is not a number from 1024 to 8388608",
    ),
    "bool": (
        "namespaces: [{name: a, allow-ttl-without-nsup: yes}]",
        "1: 'allow-ttl-without-nsup' is true or false",
    ),
    "ttl without nsup": (
        "namespaces:\n"
        "- {name: a, default-ttl: 1, nsup-period: 0, allow-ttl-without-nsup: false}",
        "2: 'default-ttl' needs an 'nsup-period'",
    ),
    "factors": (
        "namespaces:\n- {name: a, replication-factor: 1}\n"
        "- {name: b, replication-factor: 2}",
        "3: 'replication-factor' has to be the same for all namespaces",
    ),
    "broken": ("nodes: 'x", "1:"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_line_and_key(config, name):
    text, reason = BAD[name]
    path = config(text)
    done = command("--port=0", f"--config={path}")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"aeroloop-devserver: {path}:")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def command(*arguments):
    return subprocess.run(
        [find_program(), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--log=loud"], "bad value for --log: loud"),
        (["--config=a", "--config=b"], "bad value for --config: it is given twice"),
        (["--namespace=a,a"], "bad value for --namespace: a,a"),
        (["--address=localhost"], "bad value for --address: localhost"),
        (["--port=65535", "--nodes=2"], "bad value for --port"),
        (["extra"], "bad value for the command line: extra"),
    ],
)
def test_bad_command_lines(arguments, reason):
    done = command(*arguments)
    assert done.returncode == 1
    assert reason in done.stderr


def test_the_log_tells_of_nodes_faults_and_the_clock():
    with DevServer(nodes=2, log="debug") as server:
        fault = server.fault("wrong_result", command="read", result=9)
        with fault, Wire(server.hosts[0]) as wire:
            wire.one(devwire.get(bytes(20)))
        server.advance_clock(5)
        server.stop_node(1)
        server.start_node(1)
    text = "\n".join(server.log_lines())
    for words in (
        "info  fault 1 added: kind=wrong-result;command=read;result=9",
        "fault 1, wrong-result",
        "info  clock advanced by 5 s",
        "info  node 1 stops",
        "info  node 1 is back",
    ):
        assert words in text
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", text)


def test_the_log_is_silent_unless_it_is_told():
    for level in (None, "error"):
        with DevServer(nodes=2, log=level) as server:
            server.stop_node(1)
        assert server.log_lines() == []
    with pytest.raises(DevServerError, match="bad value for --log"):
        DevServer(log="all")


MANUAL = repo.ROOT / "docs" / "man" / "aeroloop-devserver.1"


def test_the_manual_names_every_option():
    options = re.findall(r"^  (--[a-z-]+)", command("--help").stdout, re.MULTILINE)
    assert len(options) > 10
    text = MANUAL.read_text().replace("\\-", "-")
    missing = [o for o in options if not re.search(re.escape(o) + r"\b", text)]
    assert missing == []


@pytest.mark.parametrize(
    "tool", [["man", "--warnings=w", "-l"], ["groff", "-man", "-ww", "-Tutf8", "-z"]]
)
def test_the_manual_has_no_warnings(tool):
    if shutil.which(tool[0]) is None:
        pytest.skip(f"there is no {tool[0]}")
    done = subprocess.run(
        [*tool, str(MANUAL)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")
