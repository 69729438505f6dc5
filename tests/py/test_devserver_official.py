# SPDX-License-Identifier: Apache-2.0
"""The official client works with the development server, on one node and on three."""

import math
import random
import threading
import time

import pytest

from aeroloop.devserver import DevServer

aerospike = pytest.importorskip("aerospike")
from aerospike import exception  # noqa: E402
from aerospike_helpers.batch import records as br  # noqa: E402
from aerospike_helpers.operations import operations as op  # noqa: E402

TEND_SECONDS = 1.0

# The client announces what servers from 8.2 on will refuse; this one speaks 8.1.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture(scope="module", params=[1, 3], ids=lambda n: f"{n}-nodes")
def server(request):
    with DevServer(nodes=request.param) as running:
        yield running
    assert running.returncode == 0


@pytest.fixture(scope="module")
def client(server):
    connected = aerospike.client({"hosts": server.hosts[:1]}).connect()
    yield connected
    connected.close()


@pytest.fixture
def key(request):
    return ("test", "official", request.node.nodeid)


def seconds_left(meta):
    return meta["ttl"]


def test_finds_all_nodes(server, client):
    assert sorted(client.get_nodes()) == sorted(server.hosts)
    assert client.is_connected()


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        2**63 - 1,
        -(2**63),
        1.5,
        -0.0,
        math.inf,
        "",
        "text",
        "é中😀",
        b"",
        b"\0\xff",
        True,
        False,
        [],
        [1, "a", b"b", None, True, 1.5, [2, {"k": [3]}]],
        {},
        {"a": 1, 2: "b", "c": [1, {"d": None}], b"\1": 2.5},
        list(range(1000)),
        {f"k{i}": i for i in range(300)},
        "x" * 100_000,
        b"y" * 1_000_000,
        aerospike.GeoJSON({"type": "Point", "coordinates": [-80.6, 28.6]}),
    ],
    ids=lambda v: type(v).__name__,
)
def test_values_come_back(client, key, value):
    client.put(key, {"v": value})
    found = client.get(key)[2]["v"]
    if isinstance(value, aerospike.GeoJSON):
        assert found.unwrap() == value.unwrap()
    else:
        assert found == value
        assert type(found) is type(value)
    client.remove(key)


def test_user_keys(client):
    for user_key in ["", "k", "é" * 30, 0, 1, -1, 2**63 - 1, bytearray(b"\0b")]:
        key = ("test", "official_keys", user_key)
        client.put(key, {"v": str(user_key)}, policy={"key": aerospike.POLICY_KEY_SEND})
        assert client.get(key)[2] == {"v": str(user_key)}


def test_select_exists_remove(client, key):
    assert client.exists(key)[1] is None
    client.put(key, {"a": 1, "b": "x", "c": 2.5})
    assert client.exists(key)[1]["gen"] == 1
    assert client.select(key, ["c", "a", "none"])[2] == {"a": 1, "c": 2.5}
    client.remove(key)
    with pytest.raises(exception.RecordNotFound):
        client.get(key)
    with pytest.raises(exception.RecordNotFound):
        client.remove(key)


def test_touch_append_prepend_increment(client, key):
    client.put(key, {"s": "b", "n": 1, "f": 1.5})
    client.append(key, "s", "c")
    client.prepend(key, "s", "a")
    client.increment(key, "n", 41)
    client.increment(key, "f", 0.25)
    client.touch(key, 100)
    _, meta, bins = client.get(key)
    assert bins == {"s": "abc", "n": 42, "f": 1.75}
    assert meta["gen"] == 6
    assert 98 <= seconds_left(meta) <= 100
    with pytest.raises(exception.BinIncompatibleType):
        client.append(key, "n", "x")


def test_ttl(client, key):
    client.put(key, {"a": 1}, policy={"ttl": 1})
    client.get(key)
    time.sleep(2.2)
    with pytest.raises(exception.RecordNotFound):
        client.get(key)
    client.put(key, {"a": 1}, policy={"ttl": aerospike.TTL_NEVER_EXPIRE})
    assert seconds_left(client.get(key)[1]) == 2**32 - 1
    client.put(key, {"a": 1}, policy={"ttl": 500})
    client.put(key, {"a": 2}, policy={"ttl": aerospike.TTL_DONT_UPDATE})
    assert 497 <= seconds_left(client.get(key)[1]) <= 500


def test_generation_policy(client, key):
    policy = {"gen": aerospike.POLICY_GEN_EQ}
    client.put(key, {"a": 1})
    client.put(key, {"a": 2}, meta={"gen": 1}, policy=policy)
    with pytest.raises(exception.RecordGenerationError):
        client.put(key, {"a": 3}, meta={"gen": 1}, policy=policy)
    policy = {"gen": aerospike.POLICY_GEN_GT}
    with pytest.raises(exception.RecordGenerationError):
        client.put(key, {"a": 3}, meta={"gen": 2}, policy=policy)
    client.put(key, {"a": 3}, meta={"gen": 9}, policy=policy)
    assert client.get(key)[1:] == ({"gen": 3, "ttl": 2**32 - 1}, {"a": 3})


def test_exists_policies(client, key):
    create = {"exists": aerospike.POLICY_EXISTS_CREATE}
    update = {"exists": aerospike.POLICY_EXISTS_UPDATE}
    replace = {"exists": aerospike.POLICY_EXISTS_REPLACE}
    either = {"exists": aerospike.POLICY_EXISTS_CREATE_OR_REPLACE}
    for policy in (update, replace):
        with pytest.raises(exception.RecordNotFound):
            client.put(key, {"a": 1}, policy=policy)
    client.put(key, {"a": 1}, policy=create)
    with pytest.raises(exception.RecordExistsError):
        client.put(key, {"a": 1}, policy=create)
    client.put(key, {"b": 2}, policy=update)
    assert client.get(key)[2] == {"a": 1, "b": 2}
    client.put(key, {"c": 3}, policy=replace)
    assert client.get(key)[2] == {"c": 3}
    client.put(key, {"d": 4}, policy=either)
    assert client.get(key)[2] == {"d": 4}


def test_operate(client, key):
    ops = [
        op.write("a", 1),
        op.increment("a", 4),
        op.write("s", "x"),
        op.append("s", "y"),
        op.prepend("s", "w"),
        op.read("a"),
        op.read("s"),
    ]
    assert client.operate(key, ops)[2] == {"a": 5, "s": "wxy"}
    _, meta, bins = client.operate_ordered(key, [op.touch(), op.read("a")])
    assert (bins, meta["gen"]) == ([("a", 5)], 2)
    client.operate(key, [op.delete()])
    assert client.exists(key)[1] is None


def test_remove_bin(client, key):
    client.put(key, {"a": 1, "b": 2})
    client.remove_bin(key, ["a"])
    assert client.get(key)[2] == {"b": 2}
    client.remove_bin(key, ["b"])
    assert client.exists(key)[1] is None


def test_batch_read(client, key):
    keys = [("test", "official_batch", f"{key[2]}{i}") for i in range(500)]
    for i, one in enumerate(keys):
        if i % 5:
            client.put(one, {"n": i, "s": "x" * i})
    found = client.batch_read(keys)
    assert found.result == 0
    for i, record in enumerate(found.batch_records):
        assert record.result == (0 if i % 5 else 2)
        if i % 5:
            assert record.record[2] == {"n": i, "s": "x" * i}
    some = client.batch_read(keys[:40], ["n"])
    for i, record in enumerate(some.batch_records):
        assert record.record is None or record.record[2] == {"n": i}
    none = client.batch_read(keys[:40], [])
    assert [r.result for r in none.batch_records] == [2, 0, 0, 0, 0] * 8


def test_batch_write(client, key):
    keys = [("test", "official_write", f"{key[2]}{i}") for i in range(60)]
    rows = [br.Write(k, [op.write("n", i), op.read("n")]) for i, k in enumerate(keys)]
    written = client.batch_write(br.BatchRecords(rows))
    assert written.result == 0
    assert [r.result for r in written.batch_records] == [0] * 60
    assert [r.record[2]["n"] for r in written.batch_records] == list(range(60))
    mixed = [
        br.Read(keys[0], [op.read("n")]),
        br.Remove(keys[1]),
        br.Write(keys[2], [op.increment("n", 100)]),
        br.Read(("test", "official_write", "none"), None, read_all_bins=True),
    ]
    found = client.batch_write(br.BatchRecords(mixed)).batch_records
    assert [r.result for r in found] == [0, 0, 0, 2]
    assert client.exists(keys[1])[1] is None
    assert client.get(keys[2])[2] == {"n": 102}
    client.batch_operate(keys[3:], [op.append("s", "y")])
    assert client.get(keys[50])[2] == {"n": 50, "s": "y"}
    client.batch_remove(keys)
    assert all(client.exists(k)[1] is None for k in keys)


def test_namespaces_and_truncate(client, key):
    other = ("bar", *key[1:])
    client.put(key, {"in": "test"})
    client.put(other, {"in": "bar"})
    assert client.get(key)[2] == {"in": "test"}
    assert client.get(other)[2] == {"in": "bar"}
    client.truncate("bar", key[1], 0)
    assert client.exists(other)[1] is None
    client.get(key)
    with pytest.raises(exception.AerospikeError):
        client.put(("nope", *key[1:]), {"a": 1})


def test_info(client, server):
    answers = client.info_all("build")
    assert len(answers) == len(server.hosts)
    for error, answer in answers.values():
        assert error is None
        assert "8.1.2.0" in answer


class Worker(threading.Thread):
    """Writes records of its own and remembers what was acknowledged."""

    def __init__(self, client, number):
        super().__init__()
        self.client = client
        self.keys = [("test", "failover", f"{number}-{i}") for i in range(40)]
        self.acked = [0] * 40
        self.sent = [0] * 40
        self.rng = random.Random(number)
        self.stop = threading.Event()

    def run(self):
        while not self.stop.is_set():
            i = self.rng.randrange(40)
            self.sent[i] += 1
            try:
                self.client.put(self.keys[i], {"n": self.sent[i]})
            except exception.AerospikeError:
                time.sleep(0.005)
                continue
            self.acked[i] = self.sent[i]


def test_node_stops_and_returns_without_losing_acknowledged_writes():
    with DevServer(nodes=3, replication_factor=2) as server:
        client = aerospike.client({"hosts": server.hosts}).connect()
        workers = [Worker(client, n) for n in range(3)]
        for worker in workers:
            worker.start()
        try:
            for node in (2, 0):
                time.sleep(0.5)
                server.stop_node(node, reset=True)
                time.sleep(TEND_SECONDS)
                server.settle()
                server.start_node(node)
                time.sleep(2 * TEND_SECONDS)
        finally:
            for worker in workers:
                worker.stop.set()
            for worker in workers:
                worker.join(30)
        assert sum(sum(w.acked) for w in workers) > 500
        for worker in workers:
            for i, key in enumerate(worker.keys):
                if worker.acked[i]:
                    number = client.get(key)[2]["n"]
                    assert worker.acked[i] <= number <= worker.sent[i]
        assert len(client.get_nodes()) == 3
        client.close()
    assert server.returncode == 0
