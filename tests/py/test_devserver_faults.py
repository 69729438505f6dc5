# SPDX-License-Identifier: Apache-2.0
"""Faults that a test orders: what a client's socket sees, and what was executed."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import threading
import time

import pytest

from aeroloop.devserver import DevServer, DevServerError
from support import devwire
from support.devwire import NOT_FOUND, OK, READ, WRITE, Wire

QUICK, PAUSE_MS = 0.1, 150
PAUSE = PAUSE_MS / 1000
WHEN = ("before", "after")


@pytest.fixture(scope="module")
def server():
    with DevServer(nodes=2) as running:
        yield running
    assert running.returncode == 0


@pytest.fixture(autouse=True)
def no_fault_stays(server):
    yield
    server.clear_faults()


@pytest.fixture
def wire(server):
    with Wire(server.hosts[0]) as connection:
        yield connection


@pytest.fixture
def digest(request):
    return random.Random(request.node.nodeid).randbytes(20)


def increment(digest):
    op = devwire.op(devwire.OP_INCR, b"n", struct.pack(">q", 1), devwire.INTEGER)
    return devwire.request(digest, info2=WRITE, ops=[op])


def batch_write(digest):
    ops = [devwire.write_op("n", 7)]
    return devwire.batch(
        [devwire.row(0, digest, devwire.row_body(info1=0, info2=WRITE, ops=ops))]
    )


COMMANDS = {
    "read": devwire.get,
    "write": lambda digest: devwire.put(digest, {"n": 7}),
    "delete": devwire.delete,
    "operate": increment,
    "batch": batch_write,
}
EVERY = [*COMMANDS, "info"]


def make(command, digest):
    if command == "info":
        return devwire.info("node", "namespaces")
    return COMMANDS[command](digest)


def read_answer(wire, command):
    """The result code of an answer, of a batch's trailer, or the info text."""
    if command == "info":
        kind, body = wire.read_frame()
        assert kind == 1
        return body.decode()
    if command == "batch":
        return wire.read_batch()[1].result
    return wire.one().result


def state(server, digest):
    """The bin `n` and the generation, by a connection that no fault meets here."""
    with Wire(server.hosts[1]) as other:
        answer = other.one(devwire.get(digest))
        if answer.result == NOT_FOUND:
            return None
        return struct.unpack(">q", answer.bins["n"])[0], answer.generation


def prepare(server, digest):
    with Wire(server.hosts[1]) as other:
        assert other.one(devwire.put(digest, {"n": 3})).result == OK
    return 3, 1


# What a command leaves of a record that `prepare` has made.
DONE = {
    "read": (3, 1),
    "write": (7, 2),
    "delete": None,
    "operate": (4, 2),
    "batch": (7, 2),
    "info": (3, 1),
}


def is_silent(wire, seconds=QUICK):
    wire.sock.settimeout(seconds)
    try:
        data = wire.sock.recv(1)
    except TimeoutError:
        return True
    finally:
        wire.sock.settimeout(20)
    raise AssertionError(f"not silent: {data!r}")


def is_reset(wire):
    with pytest.raises(ConnectionResetError):
        wire.sock.recv(1)
    return True


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("when", ["before", "after"])
def test_delay(server, wire, digest, command, when):
    before = prepare(server, digest)
    with server.fault("delay", 0, command, ms=PAUSE_MS, when=when) as fault:
        began = time.monotonic()
        wire.send(make(command, digest))
        assert is_silent(wire, PAUSE / 3)
        done = state(server, digest)
        if time.monotonic() - began < PAUSE * 0.9:  # not so on a very busy machine
            assert done == (before if when == "before" else DONE[command])
        result = read_answer(wire, command)
        assert time.monotonic() - began >= PAUSE * 0.99
        assert result == OK or "test;bar" in result
        assert fault.applied == 1
    assert state(server, digest) == DONE[command]
    wire.send(make("read", digest))
    assert read_answer(wire, "read") in (OK, NOT_FOUND)


def test_a_delay_longer_than_the_request_allows_is_not_the_servers_timeout(
    server, wire, digest
):
    with server.fault("delay", command="write", ms=PAUSE_MS):
        assert wire.one(devwire.put(digest, {"n": 1}, timeout=10)).result == OK


@pytest.mark.parametrize("command", EVERY)
def test_stall_executes_nothing_and_says_nothing(server, wire, digest, command):
    before = prepare(server, digest)
    with server.fault("stall", 0, command):
        wire.send(make(command, digest) + devwire.get(digest))
        assert is_silent(wire)
        assert state(server, digest) == before
    wire.send(devwire.get(digest))
    assert is_silent(wire), "the connection stays silent when the fault was cleared"


def test_the_server_sees_the_end_of_a_client_that_it_stalls(server, digest):
    with server.fault("stall", command="read"):
        before = {c["id"] for c in server.connections()}
        wires = [Wire(server.hosts[0]) for _ in range(20)]
        for wire in wires:
            wire.send(devwire.get(digest) * 3)
            wire.send(b"x" * 200_000)
        for wire in wires:
            wire.sock.close()
        deadline = time.monotonic() + 10
        while {c["id"] for c in server.connections()} - before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def gone(server, wire):
    """True when the server has closed its end of a connection, soon."""
    peer = "{}:{}".format(*wire.sock.getsockname())
    wire.sock.close()
    deadline = time.monotonic() + 10
    while any(c["peer"] == peer for c in server.connections()):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def test_a_delayed_write_is_executed_though_its_client_has_gone(server, digest):
    before = prepare(server, digest)
    with server.fault("delay", 0, "write", ms=PAUSE_MS):
        with Wire(server.hosts[0]) as wire:
            wire.send(devwire.put(digest, {"n": 7}))
        assert state(server, digest) == before
        deadline = time.monotonic() + 10
        while state(server, digest) == before:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert state(server, digest) == (7, 2)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("delay", {"ms": 60_000, "when": "after"}),
        ("trickle", {"ms": 60_000}),
        ("lost_reply", {}),
        ("stall", {}),
    ],
)
def test_a_client_that_goes_while_a_fault_waits_leaves_nothing(
    server, digest, kind, parameters
):
    with server.fault(kind, 0, "read", **parameters) as fault:
        wire = Wire(server.hosts[0])
        wire.send(devwire.get(digest) * 3)
        while fault.applied == 0:
            time.sleep(0.001)
        assert gone(server, wire)


@pytest.mark.parametrize("command", EVERY)
def test_trickle(server, wire, digest, command):
    pause, piece = 0.01, 7
    prepare(server, digest)
    with server.fault("trickle", 0, command, ms=int(pause * 1000), bytes=piece):
        began = time.monotonic()
        wire.send(make(command, digest))
        size = int.from_bytes(wire._take(8)[2:], "big")
        wire._take(size)
        pieces = -(-(8 + size) // piece)
        assert time.monotonic() - began >= (pieces - 1) * pause * 0.99
        if command == "batch":
            assert wire.read_batch()[1].result == OK
    assert state(server, digest) == DONE[command]
    assert wire.one(devwire.get(digest)).result in (OK, NOT_FOUND)


def test_trickle_of_a_large_answer_to_a_slow_reader(server, wire, digest):
    value = random.Random(1).randbytes(900_000)
    wire.one(devwire.put(digest, {"v": value}))
    with server.fault("trickle", command="read", ms=0, bytes=800_000):
        wire.send(devwire.get(digest, timeout=60_000) * 20)
        time.sleep(0.2)
        for _ in range(20):
            assert wire.one().bins["v"] == value


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("when", ["before", "after"])
def test_reset(server, wire, digest, command, when):
    before = prepare(server, digest)
    with server.fault("reset", 0, command, when=when):
        wire.send(make(command, digest))
        assert is_reset(wire)
    assert state(server, digest) == (before if when == "before" else DONE[command])


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 29])
def test_truncate(server, wire, digest, command, size):
    prepare(server, digest)
    with server.fault("truncate", 0, command, bytes=size):
        wire.send(make(command, digest))
        assert wire._take(size) is not None
        assert wire.sock.recv(1) == b""
    assert state(server, digest) == DONE[command]


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("delta", [-5, 1, 1000])
def test_wrong_length(server, wire, digest, command, delta):
    prepare(server, digest)
    wire.send(make(command, digest))
    right = int.from_bytes(wire._take(8)[2:], "big")
    prepared = right + delta
    with (
        Wire(server.hosts[0]) as other,
        server.fault("wrong_length", 0, command, delta=delta),
    ):
        other.send(make(command, digest))
        assert int.from_bytes(other._take(8)[2:], "big") == prepared
        other._take(right)


@pytest.mark.parametrize("length", [0, 2**48 - 1])
def test_a_length_of_choice(server, wire, digest, length):
    with server.fault("wrong_length", length=length):
        wire.send(devwire.get(digest))
        assert wire._take(8)[2:] == length.to_bytes(6, "big")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_wrong_result(server, wire, digest, command, when):
    before = prepare(server, digest)
    with server.fault("wrong_result", 0, command, result=18, when=when):
        wire.send(make(command, digest))
        assert read_answer(wire, command) == 18
    assert state(server, digest) == (before if when == "before" else DONE[command])


def test_wrong_result_of_info(server, wire):
    with server.fault("wrong_result", command="info", result=22):
        wire.send(devwire.info("node", "namespaces"))
        lines = [
            f"{name}\tERROR:22:injected fault\n" for name in ("node", "namespaces")
        ]
        assert read_answer(wire, "info") == "".join(lines)


def test_wrong_result_of_rows(server, wire):
    rng = random.Random(2)
    digests = [rng.randbytes(20) for _ in range(900)]
    for digest in digests:
        wire.one(devwire.put(digest, {"v": digest * 20}))
    with server.fault("wrong_result", command="batch", result=18, row=700, count=1):
        rows, trailer = wire.batch(devwire.batch_get(digests))
        assert trailer.result == OK
        assert [i for i, row in rows.items() if row.result != OK] == [700]
        assert rows[700].result == 18
        assert rows[699].bins["v"] == digests[699] * 20
    with server.fault("wrong_result", command="batch", result=9, row="all"):
        rows, trailer = wire.batch(devwire.batch_get(digests))
        assert trailer.result == OK
        assert {row.result for row in rows.values()} == {9}
        assert len(rows) == 900


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("how", ["silent", "close", "reset"])
def test_lost_reply_executes(server, wire, digest, command, how):
    prepare(server, digest)
    with server.fault("lost_reply", 0, command, how=how) as fault:
        wire.send(make(command, digest))
        if how == "silent":
            assert is_silent(wire)
        elif how == "close":
            assert wire.sock.recv(1) == b""
        else:
            assert is_reset(wire)
        assert fault.applied == 1
    assert state(server, digest) == DONE[command]


def test_refuse_closes_the_port_and_spares_old_connections(server, wire, digest):
    with server.fault("refuse", node=0):
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError):
                Wire(server.hosts[0])
        assert wire.one(devwire.get(digest)).result == NOT_FOUND
        with Wire(server.hosts[1]) as other:
            assert other.info("node") != []
    with Wire(server.hosts[0]) as other:
        assert other.info("node") == wire.info("node")


def test_refuse_on_all_nodes_can_be_cleared(server):
    fault = server.fault("refuse")
    for host in server.hosts:
        with pytest.raises(ConnectionRefusedError):
            Wire(host)
    fault.clear()
    fault.clear()
    for host in server.hosts:
        Wire(host).sock.close()


@pytest.mark.parametrize("how", ["close", "reset"])
def test_refuse_after_the_handshake_counts(server, how):
    with server.fault("refuse", node=1, how=how, count=2) as fault:
        for _ in range(2):
            # The reset may come before connect has returned.
            expected = (
                pytest.raises(ConnectionResetError)
                if how == "reset"
                else contextlib.nullcontext()
            )
            with expected, Wire(server.hosts[1]) as wire:
                assert wire.sock.recv(1) == b""
        assert fault.applied == 2
        with Wire(server.hosts[1]) as wire:
            assert wire.info("node") != []


def test_a_refused_node_may_stop_and_come_back(server):
    with server.fault("refuse", node=1):
        server.stop_node(1)
        server.start_node(1)
        with pytest.raises(ConnectionRefusedError):
            Wire(server.hosts[1])
    with Wire(server.hosts[1]) as wire:
        assert wire.info("node") != []


@pytest.mark.parametrize("command", EVERY)
def test_a_fault_meets_only_its_commands(server, wire, digest, command):
    prepare(server, digest)
    others = [other for other in EVERY if other != command]
    with server.fault("stall", 0, command) as fault:
        for other in others:
            wire.send(make(other, digest))
            read_answer(wire, other)
        assert fault.matched == 0
        wire.send(make(command, digest))
        assert is_silent(wire)
        assert fault.matched == 1


def test_what_counts_as_operate(server, wire, digest):
    op = devwire.op
    touch = devwire.request(digest, info2=WRITE, ops=[op(devwire.OP_TOUCH)])
    append = devwire.request(
        digest, info2=WRITE, ops=[op(devwire.OP_APPEND, b"s", b"x", devwire.STRING)]
    )
    mixed = devwire.request(
        digest,
        info1=READ,
        info2=WRITE,
        ops=[devwire.write_op("n", 1), op(devwire.OP_READ, b"n")],
    )
    select = devwire.request(digest, info1=READ, ops=[op(devwire.OP_READ, b"n")])
    exists = devwire.request(digest, info1=READ | devwire.NO_BINS)
    prepare(server, digest)
    with (
        server.fault("wrong_result", command="operate", result=99),
        server.fault("wrong_result", command=["read", "write"], result=88),
    ):
        for data in (touch, append, mixed, increment(digest)):
            assert wire.one(data).result == 99
        for data in (select, exists, devwire.put(digest, {"a": 1})):
            assert wire.one(data).result == 88
        assert wire.one(devwire.delete(digest)).result == OK


def test_namespace_and_set(server, wire, digest):
    requests = {
        ("test", "demo"): devwire.get(digest),
        ("bar", "demo"): devwire.get(digest, ns=b"bar"),
        ("test", "other"): devwire.get(digest, set_name=b"other"),
        ("test", ""): devwire.get(digest, set_name=b""),
    }
    for limits in ({"namespace": "bar"}, {"set": "demo"}, {"set": ""}):
        with server.fault("wrong_result", result=99, **limits):
            for (ns, name), data in requests.items():
                has = {"namespace": ns, "set": name}
                meant = all(has[key] == value for key, value in limits.items())
                assert wire.one(data).result == (99 if meant else NOT_FOUND)
    bodies = [devwire.row_body(ns=b"bar"), devwire.row_body(set_name=b"s")]
    with server.fault("wrong_result", result=99, namespace="bar"):
        assert (
            wire.batch(devwire.batch([devwire.row(0, digest, bodies[0])]))[1].result
            == 99
        )
        assert (
            wire.batch(devwire.batch([devwire.row(0, digest, bodies[1])]))[1].result
            == OK
        )


def test_count_after_and_the_order_of_faults(server, wire, digest):
    server.fault("wrong_result", command="read", result=71, count=2, after=3)
    server.fault("wrong_result", command="read", result=72, count=2)
    found = [wire.one(devwire.get(digest)).result for _ in range(8)]
    assert found == [72, 72, NOT_FOUND, 71, 71, NOT_FOUND, NOT_FOUND, NOT_FOUND]
    listed = server.faults()
    assert [(f["matched"], f["applied"]) for f in listed] == [("5", "2"), ("2", "2")]


def test_probability_is_the_same_each_time(server, wire, digest):
    def run(**more):
        with server.fault("wrong_result", result=99, probability=0.3, **more):
            return [wire.one(devwire.get(digest)).result for _ in range(300)]

    first = run()
    assert 60 < first.count(99) < 120
    assert run() == first
    assert run(seed=2) != first
    with server.fault("wrong_result", result=99, probability=0.0) as never:
        assert wire.one(devwire.get(digest)).result == NOT_FOUND
        assert (never.matched, never.applied) == (1, 0)


def test_one_connection(server, wire, digest):
    peer = "{}:{}".format(*wire.sock.getsockname())
    # An answer shows that the server has accepted the connection.
    assert wire.one(devwire.get(digest)).result == NOT_FOUND
    (number,) = [c["id"] for c in server.connections() if c["peer"] == peer]
    with Wire(server.hosts[0]) as other:
        with server.fault("wrong_result", result=99, connection=number):
            assert other.one(devwire.get(digest)).result == NOT_FOUND
            assert wire.one(devwire.get(digest)).result == 99
        with server.fault("wrong_result", result=99, connection="first"):
            assert other.one(devwire.get(digest)).result == 99
            assert wire.one(devwire.get(digest)).result == NOT_FOUND
            assert other.one(devwire.get(digest)).result == 99


def test_only_the_named_node(server, digest):
    with server.fault("wrong_result", node=1, result=99):
        for node, host in enumerate(server.hosts):
            with Wire(host) as wire:
                result = wire.one(devwire.get(digest)).result
                assert result == (99 if node == 1 else NOT_FOUND)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "missing 'kind'"),
        ("kind=dealy;ms=1", "unknown kind 'dealy'; did you mean 'delay'?"),
        ("kind=quux", "unknown kind 'quux'"),
        ("kind=stall;kind=stall", "unknown key 'kind'"),
        ("kind=delay", "missing 'ms'"),
        ("kind=truncate", "missing 'bytes'"),
        ("kind=wrong-result", "missing 'result'"),
        (
            "kind=delay;ms=1;comand=read",
            "unknown key 'comand'; did you mean 'command'?",
        ),
        ("kind=delay;ms=1;command=reed", "'command' has a bad value for kind delay"),
        ("kind=delay;ms=1;command=", "'command' has a bad value for kind delay"),
        ("kind=delay;ms=-1", "'ms' has a bad value for kind delay"),
        ("kind=delay;ms=1;ms=2", "'ms' is given twice for kind delay"),
        ("kind=stall;ms=1", "'ms' does not belong to kind stall"),
        ("kind=stall;node=2", "'node' has a bad value for kind stall"),
        ("kind=stall;count=0", "'count' has a bad value for kind stall"),
        ("kind=stall;probability=1.5", "'probability' has a bad value for kind stall"),
        ("kind=stall;probability=nan", "'probability' has a bad value for kind stall"),
        ("kind=stall;connection=last", "'connection' has a bad value for kind stall"),
        ("kind=stall;namespace=", "'namespace' has a bad value for kind stall"),
        ("kind=wrong-result;result=256", "'result' has a bad value"),
        ("kind=wrong-result;result=1;row=0;when=before", "no rows when=before"),
        ("kind=refuse;command=read", "'command' does not belong to kind refuse"),
        ("kind=refuse;count=1", "a closed port counts nothing"),
    ],
)
def test_faults_that_are_refused(server, wire, text, reason):
    (answer,) = wire.info(f"aeroloop-fault-add:{text}")
    assert answer.startswith("ERROR:4:")
    assert reason in answer
    assert server.faults() == []


def test_errors_of_the_python_side(server):
    with pytest.raises(DevServerError, match="did you mean 'wrong-length'"):
        server.fault("wrong_lenght")
    with pytest.raises(DevServerError, match="no such fault"):
        server._order("aeroloop-fault-clear:id=4000")
    fault = server.fault("stall", command="delete")
    fault.clear()
    with pytest.raises(DevServerError, match="was cleared"):
        _ = fault.applied


def test_the_list_tells_all(server):
    server.fault("delay", 1, ["read", "batch"], 5, ms=20, when="after", set="s")
    server.fault("wrong_length", connection="first", probability=0.5, seed=9)
    server.fault("lost_reply", how="reset", namespace="bar", after=2)
    assert [
        {k: v for k, v in fault.items() if k != "id"} for fault in server.faults()
    ] == [
        {
            "kind": "delay",
            "node": "1",
            "command": "read+batch",
            "set": "s",
            "ms": "20",
            "when": "after",
            "count": "5",
            "matched": "0",
            "applied": "0",
        },
        {
            "kind": "wrong-length",
            "command": "any",
            "connection": "first",
            "delta": "1",
            "probability": "0.5",
            "seed": "9",
            "matched": "0",
            "applied": "0",
        },
        {
            "kind": "lost-reply",
            "command": "any",
            "namespace": "bar",
            "how": "reset",
            "after": "2",
            "matched": "0",
            "applied": "0",
        },
    ]


def test_commands_of_tests_meet_no_fault(server, wire):
    with server.fault("reset"):
        assert wire.info("aeroloop-nodes") != []
        wire.send(devwire.info("node"))
        assert is_reset(wire)


def test_nodes_stop_while_faults_are_at_work(server, digest):
    wires = [Wire(server.hosts[1]) for _ in range(8)]
    kinds = [
        ("delay", {"ms": 60000}),
        ("delay", {"ms": 60000, "when": "after"}),
        ("stall", {}),
        ("trickle", {"ms": 60000}),
        ("lost_reply", {}),
    ]
    for (kind, parameters), wire in zip(kinds, wires, strict=False):
        with server.fault(kind, node=1, command="read", **parameters) as fault:
            wire.send(devwire.get(digest))
            while fault.applied == 0:
                time.sleep(0.001)
    server.stop_node(1)
    server.start_node(1)
    for wire in wires:
        with contextlib.suppress(ConnectionError):
            while wire.sock.recv(100):
                pass
        wire.sock.close()


def test_pipelined_requests_behind_a_fault_are_served_in_order(server, wire, digest):
    prepare(server, digest)
    for kind, parameters in [
        ("delay", {"ms": 20}),
        ("delay", {"ms": 20, "when": "after"}),
        ("trickle", {"ms": 0, "bytes": 5}),
        ("wrong_result", {"result": 99}),
        ("wrong_length", {"delta": 0}),
    ]:
        with server.fault(kind, command="read", count=2, **parameters):
            wire.send(b"".join([devwire.get(digest), devwire.get(digest[::-1])] * 3))
            wire.send(devwire.info("node"))
            found = [wire.one().result for _ in range(6)]
            broken = 2 if kind == "wrong_result" else 0
            assert found == [99] * broken + [OK, NOT_FOUND] * (3 - broken // 2)
            assert wire.read_frame()[0] == 1


class User(threading.Thread):
    """Sends requests of all kinds and takes what comes, over connections of its own."""

    def __init__(self, server, seed, end):
        super().__init__()
        self.server = server
        self.rng = random.Random(seed)
        self.end = end
        self.answered = 0
        self.broken = 0

    def run(self):
        while time.monotonic() < self.end:
            try:
                with Wire(self.rng.choice(self.server.hosts), timeout=0.05) as wire:
                    for _ in range(self.rng.randrange(1, 50)):
                        self.step(wire)
            except (OSError, EOFError):
                self.broken += 1

    def step(self, wire):
        digests = [self.rng.randbytes(1) * 20 for _ in range(5)]
        many = self.rng.randrange(1, 5)
        for digest in digests[:many]:
            wire.send(make(self.rng.choice(EVERY), digest))
        for _ in range(many):
            wire.sock.recv(self.rng.choice([1, 100, 100_000]))
            self.answered += 1


@pytest.mark.slow
def test_any_mix_of_faults_is_survived(server):
    rng = random.Random(9)
    own = {
        "delay": lambda: {"ms": rng.randrange(20), "when": rng.choice(WHEN)},
        "stall": dict,
        "trickle": lambda: {"ms": rng.randrange(3), "bytes": rng.randrange(1, 50)},
        "reset": lambda: {"when": rng.choice(WHEN)},
        "truncate": lambda: {"bytes": rng.randrange(60)},
        "wrong_length": lambda: {"delta": rng.randrange(-100, 100)},
        "wrong_result": lambda: {"result": rng.randrange(256), "row": rng.choice("01")},
        "lost_reply": lambda: {"how": rng.choice(["silent", "close", "reset"])},
        "refuse": lambda: {"how": rng.choice(["refuse", "close", "reset"])},
    }
    end = time.monotonic() + (60 if os.environ.get("AEROLOOP_SOAK") else 3)
    users = [User(server, seed, end) for seed in range(4)]
    for user in users:
        user.start()
    applied = set()
    while time.monotonic() < end:
        for _ in range(rng.randrange(1, 6)):
            kind = rng.choice(list(own))
            parameters = own[kind]()
            if parameters.get("how") != "refuse":
                parameters["probability"] = rng.random()
            server.fault(kind, rng.choice([None, 0, 1]), **parameters)
        time.sleep(rng.random() * 0.1)
        applied |= {f["kind"] for f in server.faults() if f["applied"] != "0"}
        server.clear_faults()
    for user in users:
        user.join(30)
    assert len(applied) == len(own)
    assert sum(user.answered for user in users) > 100
    assert sum(user.broken for user in users) > 10
    for host in server.hosts:
        with Wire(host) as wire:
            assert wire.one(devwire.put(bytes(20), {"n": 1})).result == OK
            assert wire.one(devwire.get(bytes(20))).result == OK


def test_a_fault_of_the_sessions_server(aerospike_devserver, aerospike_faults, digest):
    """How a test with pytest's fixtures looks; the fault ends with the test."""
    fault = aerospike_faults("wrong_result", command="read", result=9, count=1)
    with Wire(aerospike_devserver.hosts[0]) as wire:
        assert wire.one(devwire.get(digest)).result == 9
        assert wire.one(devwire.get(digest)).result == NOT_FOUND
    assert fault.applied == 1


def test_the_fixture_has_cleared_its_faults(aerospike_devserver):
    assert aerospike_devserver.faults() == []
