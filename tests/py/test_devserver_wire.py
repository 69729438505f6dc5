# SPDX-License-Identifier: Apache-2.0
"""The development server's sockets: splits, pipelines, slow readers, limits, noise."""

import json
import os
import random
import struct
import subprocess
import sys
import time

import pytest

from aeroloop.devserver import DevServer, DevServerError, find_program
from support import devwire
from support.devwire import NOT_FOUND, OK, Wire

FUZZ_SEEDS = range(6)


@pytest.fixture(scope="module")
def server():
    with DevServer() as running:
        yield running
    # Not so when it crashed, or when a sanitizer found something.
    assert running.returncode == 0


@pytest.fixture
def wire(server):
    with Wire(server.hosts[0]) as connection:
        yield connection


@pytest.fixture
def digest(request):
    return random.Random(request.node.nodeid).randbytes(20)


def test_put_get_delete(wire, digest):
    assert wire.one(devwire.get(digest)).result == NOT_FOUND
    assert wire.one(devwire.put(digest, {"a": 1, "b": "x"})).generation == 1
    assert wire.one(devwire.get(digest)).bins == {"a": struct.pack(">q", 1), "b": b"x"}
    assert wire.one(devwire.delete(digest)).result == OK
    assert wire.one(devwire.get(digest)).result == NOT_FOUND


@pytest.mark.parametrize(
    "make", [devwire.get, lambda d: devwire.batch_get([d, d[::-1]])]
)
def test_a_request_may_come_in_any_two_pieces(wire, digest, make):
    wire.one(devwire.put(digest, {"a": 1}))
    data = make(digest)
    for cut in range(1, len(data)):
        wire.send(data[:cut])
        time.sleep(0)
        wire.send(data[cut:])
        kind, body = wire.read_frame()
        assert (kind, next(iter(devwire.messages(body))).result) == (3, OK)
        if data[9] & devwire.BATCH:
            wire.read_frame()


def test_a_request_may_come_byte_by_byte(wire, digest):
    wire.one(devwire.put(digest, {"a": 1}))
    for byte in devwire.get(digest):
        wire.send(bytes([byte]))
    assert wire.one().result == OK


def test_pipelined_requests_are_served_in_order(wire, digest):
    requests = []
    for i in range(500):
        requests += [devwire.put(digest, {"n": i}), devwire.get(digest)]
        requests += [devwire.batch_get([digest]), devwire.info("namespaces")]
    wire.send(b"".join(requests))
    for i in range(500):
        assert wire.one().generation == i + 1
        assert wire.one().bins == {"n": struct.pack(">q", i)}
        rows, trailer = wire.read_batch()
        assert rows[0].bins == {"n": struct.pack(">q", i)}
        assert trailer.result == OK
        assert wire.read_frame() == (1, b"namespaces\ttest;bar\n")


def test_a_large_batch_comes_in_frames_and_waits_for_a_slow_reader(server, digest):
    rng = random.Random(1)
    digests = [rng.randbytes(20) for _ in range(200)]
    with Wire(server.hosts[0]) as wire, Wire(server.hosts[0]) as other:
        for d in digests:
            wire.one(devwire.put(d, {"v": d * 500}))
        asked = [digests[i % 200] for i in range(5000)]
        wire.send(devwire.batch_get(asked) + devwire.get(digests[0]))
        time.sleep(0.5)
        # 50 MB wait for this reader; others are served meanwhile.
        assert other.one(devwire.get(digests[1])).result == OK
        rows, trailer = wire.read_batch()
        assert trailer.result == OK
        assert len(rows) == 5000
        assert all(rows[i].bins["v"] == asked[i] * 500 for i in range(5000))
        assert wire.one().result == OK


def test_rows_that_are_larger_than_a_frame_stand_alone(wire, digest):
    small = digest[::-1]
    wire.one(devwire.put(digest, {"v": b"x" * 300_000}))
    wire.one(devwire.put(small, {"v": b"y" * 10}))
    wire.send(devwire.batch_get([small, digest, small, digest, digest, small]))
    rows, _ = wire.read_batch()
    assert [len(rows[i].bins["v"]) for i in range(6)] == [
        10,
        3 * 10**5,
        10,
        3 * 10**5,
        3 * 10**5,
        10,
    ]


def test_batch_of_100_000_absent_keys(wire):
    rng = random.Random(2)
    rows, trailer = wire.batch(
        devwire.batch_get([rng.randbytes(20) for _ in range(100_000)])
    )
    assert trailer.result == OK
    assert len(rows) == 100_000
    assert {m.result for m in rows.values()} == {NOT_FOUND}


def test_bins_by_name_in_any_order(wire, digest):
    names = [f"f{i}" for i in range(64)]
    wire.one(devwire.put(digest, {n: i for i, n in enumerate(names)}))
    rng = random.Random(3)
    for _ in range(50):
        asked = rng.choices([*names, "absent", "f640"], k=rng.randrange(1, 80))
        ops = [devwire.op(devwire.OP_READ, n.encode()) for n in asked]
        body = devwire.row_body(info1=devwire.READ, ops=ops)
        rows, _ = wire.batch(
            devwire.batch([devwire.row(0, digest, body), devwire.row(1, digest)])
        )
        want = [n.encode() for n in asked if n in names]
        for message in rows.values():
            assert [name for _, _, name, _ in message.ops] == want
            for _, _, name, value in message.ops:
                assert value == struct.pack(">q", int(name[1:]))


@pytest.mark.parametrize(
    "head",
    ["0203010000000000", "0203000008000001", "0103000000000000", "0200000000000000"],
)
def test_a_wrong_header_closes_without_an_answer(wire, head):
    wire.send(bytes.fromhex(head))
    assert wire.is_closed()


def test_a_header_that_promises_128_mib_costs_nothing(server):
    connections = [Wire(server.hosts[0]) for _ in range(50)]
    try:
        for wire in connections:
            wire.send(bytes.fromhex("0203000008000000") + b"\0" * 1000)
        assert resident_bytes(server.pid) < 300 * 2**20
    finally:
        for wire in connections:
            wire.sock.close()


def resident_bytes(pid):
    text = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
    ).stdout
    return int(text) * 1024


def test_expiry(wire, digest):
    before = int(time.time()) - devwire.EPOCH
    answer = wire.one(devwire.put(digest, {"a": 1}, ttl=1))
    assert 1 <= answer.void_time - before <= 3
    assert wire.one(devwire.get(digest)).result == OK
    time.sleep(2.2)
    assert wire.one(devwire.get(digest)).result == NOT_FOUND
    assert wire.one(devwire.put(digest, {"b": 1})).generation == 1


def test_truncate(wire, digest):
    later = digest[::-1]
    wire.one(devwire.put(digest, {"a": 1}, set_name=b"cut"))
    assert wire.info("truncate:namespace=test;set=cut") == ["ok"]
    assert wire.one(devwire.get(digest, set_name=b"cut")).result == NOT_FOUND
    wire.one(devwire.put(later, {"a": 1}, set_name=b"cut"))
    assert wire.one(devwire.get(later, set_name=b"cut")).result == OK
    lut = time.time_ns() - 10**10
    assert wire.info(f"truncate:namespace=test;set=cut;lut={lut}") == ["ok"]
    assert wire.one(devwire.get(later, set_name=b"cut")).result == OK


def test_statistics_count(server, wire):
    def connections():
        text = wire.info("statistics")[0]
        return int(dict(p.split("=") for p in text.split(";"))["client_connections"])

    before = connections()
    with Wire(server.hosts[0]) as more:
        more.info("node")
        assert connections() == before + 1


def mutated(rng, seeds):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(len(data))
        choice = rng.randrange(4)
        if choice == 0:
            data[at] = rng.randrange(256)
        elif choice == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif choice == 2:
            data[at : at + rng.randrange(1, 9)] = rng.randbytes(rng.randrange(9))
        else:
            data[at : at + 4] = struct.pack(">I", rng.choice([0, 1, 2**31, 2**32 - 1]))
        if not data:
            data = bytearray(b"\2")
    if rng.random() < 0.8:  # a header that fits, so that the body is read
        body = bytes(data[8:])
        kind = data[1] if len(data) > 1 and data[1] in range(1, 6) else 3
        return devwire.frame(body, kind)
    return bytes(data)


def fuzz_seeds(rng):
    d = rng.randbytes(20)
    lists = bytes.fromhex("94 01 a2 03 61 82 01 02 a2 03 62 c0 93 c7 00 01 01 02")
    maps = bytes.fromhex("83 a2 03 62 01 05 93 01 02 03 a2 04 00 cb 3ff8000000000000")
    geo = b"\0\0\0" + b'{"type": "Point", "coordinates": [-80.6, 28.6]}'
    body = devwire.row_body(info2=devwire.WRITE, ops=[devwire.write_op("a", 1)])
    return [
        devwire.get(d),
        devwire.put(d, {"a": 1, "b": "text", "c": b"blob"}, ttl=100),
        devwire.delete(d),
        devwire.request(
            d,
            info1=devwire.READ,
            info2=devwire.WRITE | devwire.RESPOND_ALL,
            ops=[
                devwire.op(devwire.OP_WRITE, b"l", lists, 20),
                devwire.op(devwire.OP_WRITE, b"m", maps, 19),
                devwire.op(devwire.OP_WRITE, b"g", geo, 23),
                devwire.op(devwire.OP_INCR, b"n", b"\0" * 7 + b"\1", 1),
                devwire.op(devwire.OP_APPEND, b"s", b"tail", 3),
                devwire.op(devwire.OP_TOUCH),
                devwire.op(devwire.OP_READ, b"n"),
                devwire.op(14),
                devwire.op(devwire.OP_READ, b"s"),
            ],
            fields=[devwire.field(2, b"\3key")],
        ),
        devwire.batch_get([d, d[::-1], d]),
        devwire.batch(
            [devwire.row(0, d, body), devwire.row(1, d), devwire.row(2, d, b"\x00\x03")]
        ),
        devwire.info("node", "replicas", "sets/test", "truncate:namespace=bar;set=x"),
        devwire.frame(b"\0" * 16, 2),
    ]


@pytest.mark.parametrize("seed", FUZZ_SEEDS)
def test_random_bytes_do_not_stop_the_server(server, seed):
    rng = random.Random(seed)
    seeds = fuzz_seeds(rng)
    for _ in range(60):
        with Wire(server.hosts[0], timeout=5) as wire:
            try:
                for _ in range(rng.randrange(1, 40)):
                    wire.send(mutated(rng, seeds))
                if rng.random() < 0.5:
                    wire.sock.settimeout(0.02)
                    wire.sock.recv(1 << 16)
            except OSError:
                pass  # the server closed it
    digest = rng.randbytes(20)
    with Wire(server.hosts[0]) as wire:
        assert wire.one(devwire.put(digest, {"a": 1})).result == OK
        assert wire.one(devwire.get(digest)).result == OK
        assert len(wire.batch(devwire.batch_get([digest] * 10))[0]) == 10


def test_ends_with_its_parent():
    server = DevServer()
    server._process.stdin.close()
    assert server._process.wait(10) == 0
    server.close()


def test_closes_twice():
    server = DevServer()
    assert server.returncode is None
    server.close()
    server.close()
    assert server.returncode == 0
    with pytest.raises(DevServerError, match="does not answer"):
        server.info("node")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_end_it():
    with DevServer() as server:
        child = os.fork()
        if child == 0:
            server.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert server.info("status") == "ok"
    assert server.returncode == 0


def test_a_port_in_use_is_told(server):
    with pytest.raises(DevServerError, match="cannot listen"):
        DevServer(port=server.hosts[0][1])


def test_a_missing_program_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("AEROLOOP_DEVSERVER", str(tmp_path / "none"))
    with pytest.raises(DevServerError, match="is not a program"):
        DevServer()


def test_needs_no_extension():
    """What a project needs for its tests works where the client was not built."""
    code = (
        "import sys; sys.modules['aeroloop._core'] = None\n"
        "import aeroloop.devserver, aeroloop.pytest_plugin\n"
        "with aeroloop.devserver.DevServer() as server: print(server.info('build'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "8.1.2.0\n"


def test_runs_as_a_module():
    command = [sys.executable, "-m", "aeroloop.devserver", "--port=0", "--nodes=2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        ready = json.loads(process.stdout.readline())
        assert len(ready["hosts"]) == 2
        assert ready["pid"] == process.pid
        process.terminate()
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nodes=9"],
        ["--nodes=0"],
        ["--port=65536"],
        ["--port=x"],
        ["--namespace=a,b,c"],
        ["--namespace="],
        ["--address=localhost", "--port=0"],
        ["--cluster-name="],
        ["--what"],
        ["left over"],
    ],
)
def test_bad_arguments_are_refused(arguments):
    done = subprocess.run(
        [find_program(), *arguments], capture_output=True, text=True, timeout=10
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr != ""
