# SPDX-License-Identifier: Apache-2.0
"""Files of records that the server begins with."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import subprocess
import time

import pytest

import aeroloop
from aeroloop.devserver import DevServer, DevServerError, find_program
from support import devwire
from support.devwire import EPOCH, NOT_FOUND, OK, Wire

KINDS = {"null": 0, "int": 1, "float": 2, "str": 3, "bytes": 4, "bool": 17}


def digest(key, set_name=""):
    if isinstance(key, str):
        data = b"\x03" + key.encode()
    elif isinstance(key, int):
        data = b"\x01" + struct.pack(">q", key)
    else:
        data = b"\x04" + key
    return hashlib.new("ripemd160", set_name.encode() + data).digest()


@pytest.fixture
def run(tmp_path):
    """Starts servers with files of the given names and texts."""
    servers = []

    def start(files, **more):
        names = []
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
            names.append(tmp_path / name)
        server = DevServer(load=names, **more)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()
        assert server.returncode == 0


def read(server, key, set_name="", ns=b"test", node=0):
    with Wire(server.hosts[node]) as wire:
        return wire.one(
            devwire.get(digest(key, set_name), ns=ns, set_name=set_name.encode())
        )


def test_all_types_of_values_and_keys(run):
    server = run(
        {
            "a.yaml": """
# Comments are allowed.
- namespace: test
  set: users
  key: alice
  bins:
    i: -42
    hex: 0x10
    f: 2.5
    s: plain text
    digits: "42"
    t: true
    b: {b64: "AAECAw=="}
    empty: ''
    block: |
      two
      lines
- {namespace: test, key: 7, bins: {a: 1}}
- {namespace: bar, key: {b64: "/w=="}, bins: {a: 1}}
- {namespace: test, key: "7", bins: {a: 2}}
"""
        }
    )
    answer = read(server, "alice", "users")
    assert answer.result == OK
    assert answer.generation == 1
    found = {name.decode(): (kind, value) for _, kind, name, value in answer.ops}
    assert found == {
        "i": (KINDS["int"], struct.pack(">q", -42)),
        "hex": (KINDS["int"], struct.pack(">q", 16)),
        "f": (KINDS["float"], struct.pack(">d", 2.5)),
        "s": (KINDS["str"], b"plain text"),
        "digits": (KINDS["str"], b"42"),
        "t": (KINDS["bool"], b"\x01"),
        "b": (KINDS["bytes"], bytes(range(4))),
        "empty": (KINDS["str"], b""),
        "block": (KINDS["str"], b"two\nlines\n"),
    }
    assert read(server, 7).bins == {"a": struct.pack(">q", 1)}
    assert read(server, "7").bins == {"a": struct.pack(">q", 2)}
    assert read(server, b"\xff", ns=b"bar").result == OK
    assert read(server, b"\xff").result == NOT_FOUND


def test_lists_and_maps_are_those_that_a_client_reads(run):
    value = {
        "name": "Zoë \U0001f600",
        "list": [1, -1, 2.5, True, None, "x", [[], {}], {"deep": [1]}],
        "map": {"a": 1, "b": [2, 3], "c": {"d": "e"}},
    }
    server = run({"r.json": json.dumps([record("k", value, set="s")], indent="\t")})
    client = aeroloop.client({"hosts": server.hosts}).connect()
    try:
        _key, _meta, bins = client.get(("test", "s", "k"))
    finally:
        client.close()
    assert bins == value


def record(key, bins, **more):
    return {"namespace": "test", "key": key, "bins": bins, **more}


def test_escapes_of_json(run):
    text = 'a"\\\\ud83d\\ / \b\t\n \u00e9 \u2028 \U0001f600'
    encoded = json.dumps([record("k", {"s": text, "t": "\U00010000"})])
    assert "\\ud83d\\ude00" in encoded
    server = run({"a.json": encoded.replace(" / ", " \\/ ")})
    bins = read(server, "k").bins
    assert bins["s"].decode() == text
    assert bins["t"].decode() == "\U00010000"


def test_times_to_live(run, tmp_path):
    (tmp_path / "c.yaml").write_text("namespaces: [{name: test, default-ttl: 1h}]")
    server = run(
        {
            "a.yaml": """
- {namespace: test, key: 1, bins: {a: 1}}
- {namespace: test, key: 2, bins: {a: 1}, ttl: 600}
- {namespace: test, key: 3, bins: {a: 1}, ttl: -1}
"""
        },
        config=tmp_path / "c.yaml",
    )
    now = time.time() - EPOCH
    assert read(server, 1).void_time == pytest.approx(now + 3600, abs=60)
    assert read(server, 2).void_time == pytest.approx(now + 600, abs=60)
    assert read(server, 3).void_time == 0
    server.advance_clock(700)
    assert [read(server, key).result for key in (1, 2, 3)] == [OK, NOT_FOUND, OK]


def test_several_files_on_several_nodes(run):
    records = [record(i, {"n": i}, set="s") for i in range(2000)]
    server = run(
        {
            "a.json": json.dumps(records[:1000]),
            "b.yaml": json.dumps(records[1000:1500])
            + "\n---\n"
            + json.dumps(records[1500:]),
            "empty.yaml": "",
            "none.json": "[]",
        },
        nodes=3,
        log="info",
    )
    for node in range(3):
        with Wire(server.hosts[node]) as wire:
            keys = [digest(i, "s") for i in range(2000)]
            rows, trailer = wire.batch(
                devwire.batch(
                    [
                        devwire.row(
                            i, d, None if i else devwire.row_body(set_name=b"s")
                        )
                        for i, d in enumerate(keys)
                    ]
                )
            )
            assert trailer.result == OK
            assert [rows[i].bins["n"] for i in range(2000)] == [
                struct.pack(">q", i) for i in range(2000)
            ]
    counts = [
        int(server.info("namespace/test", n).partition("objects=")[2].partition(";")[0])
        for n in range(3)
    ]
    assert sum(counts) == 4000
    server.stop_node(1)
    assert read(server, 5, "s").result == OK
    server.start_node(1)
    loaded = [line for line in server.log_lines() if "records loaded" in line]
    assert [line.split(": ")[1] for line in loaded] == [
        "1000 records loaded",
        "1000 records loaded",
        "0 records loaded",
        "0 records loaded",
    ]


ONE = "- namespace: test\n  key: k\n"
BAD = {
    "not yaml": ("- {a: [}", "1:"),
    "not a list": ("namespace: test", "1: this is not a list of records"),
    "not a record": ("- 5", "1: record 1 is not a mapping of keys"),
    "unknown key": (
        ONE + "  bins: {a: 1}\n- namespace: test\n  keys: k",
        "5: record 2: unknown key 'keys'; did you mean 'key'?",
    ),
    "key twice": (ONE + "  key: j", "3: record 1: 'key' is there twice"),
    "no namespace": ("- key: k", "1: record 1: 'namespace': the server has no ''"),
    "namespace": (
        "- namespace: tset\n  key: k",
        "1: record 1: 'namespace': the server has no 'tset'",
    ),
    "no key": ("- namespace: test", "1: record 1: 'key' has to be"),
    "key of a type": (
        "- namespace: test\n  key: 1.5\n  bins: {a: 1}",
        "2: record 1: 'key': ",
    ),
    "key is a list": ("- namespace: test\n  key: [1]", "2: record 1: 'key' has to be"),
    "key is null": ("- namespace: test\n  key:", "2: record 1: 'key': has no value"),
    "set": (ONE + f"  set: {'s' * 64}\n  bins: {{a: 1}}", "record 1: 'key': "),
    "set is a list": (ONE + "  set: [a]", "3: record 1: 'set' is not a text"),
    "set with NUL": (
        ONE + '  set: "a\\0b"\n  bins: {a: 1}',
        "3: record 1: 'set' is not a text",
    ),
    "no bins": (ONE, "1: record 1: 'bins' has to be"),
    "empty bins": (ONE + "  bins: {}", "3: record 1: 'bins' has to be"),
    "long bin": (
        ONE + f"  bins:\n    a: 1\n    {'b' * 16}: 2",
        f"5: record 1: '{'b' * 16}' is no name of a bin",
    ),
    "bin twice": (ONE + "  bins: {a: 1, a: 2}", "3: record 1: bin 'a' is there twice"),
    "bin is null": (ONE + "  bins: {a: }", "3: record 1: bin 'a' has no value"),
    "integer": (
        ONE + "  bins: {a: 9223372036854775808}",
        "3: record 1: 'a': 9223372036854775808 has more than 64 bits",
    ),
    "base64": (ONE + "  bins: {a: [{b64: '?'}]}", "3: record 1: 'a': bad base64"),
    "key of a map": (ONE + "  bins: {a: {[1]: 2}}", "3: record 1: 'a': a map's key"),
    "levels": (
        ONE + "  bins: {a: " + "[" * 129 + "]" * 129 + "}",
        "3: record 1: 'a': too many levels",
    ),
    "endless": (ONE + "  bins: {a: &x [1, *x]}", "record 1: 'a': too many levels"),
    "bomb": (
        ONE
        + "  bins:\n    a: &a0 [xxxxxxxx]\n"
        + "".join(
            f"    b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
        ),
        "record 1: ",
    ),
    "too big": (
        ONE + f"  bins: {{a: '{'x' * 1_100_000}'}}",
        "1: record 1: record too big",
    ),
    "ttl": (ONE + "  ttl: 1h\n  bins: {a: 1}", "3: record 1: 'ttl' is not a number"),
    "large ttl": (ONE + "  ttl: 315360001", "3: record 1: 'ttl' is not a number"),
    "key again": (
        (ONE + "  bins: {a: 1}\n") * 2,
        "4: record 2: 'key': this record was loaded before",
    ),
    "not utf-8": ("- {a: '\udcff'}", ": byte"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_line_and_record(tmp_path, name):
    text, reason = BAD[name]
    path = tmp_path / "bad.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = subprocess.run(
        [find_program(), "--port=0", f"--load={path}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"aeroloop-devserver: {path}:")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DevServerError, match=r"status 2: .*none\.yaml: No such file"):
        DevServer(load=[tmp_path / "none.yaml"])
    with pytest.raises(DevServerError, match=r"status 2: .*: Is a directory"):
        DevServer(load=[tmp_path])


def test_a_record_of_each_byte(run):
    blob = base64.b64encode(bytes(range(256)) * 100).decode()
    server = run({"a.json": json.dumps([record("k", {"b": {"b64": blob}})])})
    assert read(server, "k").bins["b"] == bytes(range(256)) * 100
