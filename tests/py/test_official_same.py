# SPDX-License-Identifier: Apache-2.0
"""What the official client and aerospike-py store and read is what ours does, value by
value, on one node and on three."""

import math
import random

import pytest

import aeroloop
from aeroloop.devserver import DevServer

aerospike = pytest.importorskip("aerospike")

NODES = [1, 3]
VALUES = {
    "zero": 0,
    "small": -7,
    "largest": 2**63 - 1,
    "smallest": -(2**63),
    "float": 1.5,
    "negative zero": -0.0,
    "tiny": 5e-324,
    "infinity": math.inf,
    "true": True,
    "false": False,
    "empty": "",
    "text": "h\u00e9llo \u4e2d \U0001f600",
    "long text": "x" * 70_000,
    "blob": b"\0\x01\xfe\xff",
    "empty blob": b"",
    "long blob": bytes(range(256)) * 300,
    "list": [1, -1, 2.5, "a", b"b", None, True, [], [[1], {}]],
    "map": {"a": 1, 2: "b", b"c": [1, {"d": None}], -9: 2.5},
    "long list": list(range(3000)),
    "long map": {f"k{i}": i for i in range(1000)},
    "integers": [2**n for n in range(63)] + [-(2**n) for n in range(64)],
    "lengths": ["x" * n for n in (0, 1, 30, 31, 32, 254, 255, 256, 65535)],
}
USER_KEYS = [
    "text",
    "",
    "\u00e9" * 20,
    0,
    1,
    -1,
    2**63 - 1,
    -(2**63),
    bytearray(b"a\0b"),
]


@pytest.fixture(scope="module", params=NODES, ids=lambda n: f"{n}-nodes")
def server(request):
    with DevServer(nodes=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def ours(server):
    with aeroloop.client({"hosts": server.hosts}).connect() as client:
        yield client


@pytest.fixture(scope="module")
def official(server):
    client = aerospike.client({"hosts": server.hosts}).connect()
    yield client
    client.close()


@pytest.fixture(scope="module")
def peer(server):
    aerospike_py = pytest.importorskip("aerospike_py")
    client = aerospike_py.client({"hosts": server.hosts}).connect()
    yield client
    client.close()


def same(first, second):
    """Equal in value and in type, all the way down."""
    if type(first) is not type(second):
        return False
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return set(first) == set(second) and all(
            same(first[key], second[key]) for key in first
        )
    if isinstance(first, float):
        return math.copysign(1, first) == math.copysign(1, second) and (
            first == second or first != first
        )
    return first == second


def test_clusters_look_the_same(server, ours, official):
    names = {node["node_name"] for node in official.get_node_names()}
    assert set(ours.get_node_names()) == names
    assert len(names) == len(server.hosts)
    answers = official.info_all("build")
    for row in ours.info_all("build"):
        error, text = answers[row.node_name]
        assert error is None
        assert text.split("\t")[-1].strip() == row.response


@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_official_client(ours, official, name):
    key = ("test", "official", f"theirs {name}")
    official.put(key, {"v": VALUES[name], "other": 1})
    record = ours.get(key)
    _, meta, bins = official.get(key)
    assert same(record.bins, bins)
    assert same(record.bins["v"], VALUES[name])
    assert record.meta.gen == meta["gen"]
    assert record.meta.ttl == meta["ttl"]


@pytest.mark.parametrize("name", VALUES)
def test_values_of_ours(ours, official, name):
    key = ("test", "official", f"ours {name}")
    ours.put(key, {"v": VALUES[name], "other": 1})
    _, _, bins = official.get(key)
    assert same(bins, {"v": VALUES[name], "other": 1})


@pytest.mark.parametrize("user_key", USER_KEYS, ids=repr)
def test_keys_name_the_same_record(ours, official, user_key):
    key = ("test", "official", user_key)
    official.put(key, {"by": "official"})
    assert ours.get(key).bins == {"by": "official"}
    digest = official.exists(key)[0][3]
    assert ours.get(key).key.digest == bytes(digest)
    ours.put(key, {"by": "ours"})
    assert official.get(key)[2] == {"by": "ours"}
    assert ours.get(("test", "official", None, bytes(digest))).bins == {"by": "ours"}
    no_set = ("test", "", user_key)
    ours.put(no_set, {"by": "ours"})
    assert official.get(("test", None, user_key))[2] == {"by": "ours"}


def test_bytes_keys_of_the_official_client(server, official):
    config = {"hosts": server.hosts, "key_bytes_as": "string"}
    with aeroloop.client(config).connect() as other:
        key = ("test", "official", b"bytes key")
        official.put(key, {"a": 1})
        assert other.get(key).bins == {"a": 1}


@pytest.mark.filterwarnings("ignore:.* is deprecated for strings:DeprecationWarning")
def test_single_commands(ours, official):
    key = ("test", "official", "commands")
    for one, two in [(ours, official), (official, ours)]:
        one.put(key, {"i": 1, "s": "b", "x": 1, "y": 2})
        two.increment(key, "i", 5)
        one.append(key, "s", "c")
        two.prepend(key, "s", "a")
        one.remove_bin(key, ["x"])
        assert (
            official.get(key)[2] == ours.get(key).bins == {"i": 6, "s": "abc", "y": 2}
        )
        assert official.select(key, ["i", "none"])[2] == {"i": 6}
        assert ours.select(key, ["i", "none"]).bins == {"i": 6}
        two.touch(key, 1000)
        assert abs(official.get(key)[1]["ttl"] - ours.get(key).meta.ttl) <= 1
        assert official.exists(key)[1]["gen"] == ours.exists(key).meta.gen == 6
        two.remove(key)
        assert ours.exists(key).meta is None
        assert official.exists(key)[1] is None


def codes(call):
    try:
        call()
    except aerospike.exception.AerospikeError as error:
        return error.code
    except aeroloop.AerospikeError as error:
        return error.code
    return 0


@pytest.mark.filterwarnings("ignore:.* is deprecated for strings:DeprecationWarning")
def test_errors_have_the_same_codes(ours, official):
    missing = ("test", "official", "missing")
    present = ("test", "official", "present")
    ours.put(present, {"i": 1, "s": "x"})
    create = {"exists": aeroloop.POLICY_EXISTS_CREATE_ONLY}
    for mine, theirs in [
        (lambda: ours.get(missing), lambda: official.get(missing)),
        (lambda: ours.remove(missing), lambda: official.remove(missing)),
        (lambda: ours.touch(missing), lambda: official.touch(missing)),
        (
            lambda: ours.append(present, "i", "x"),
            lambda: official.append(present, "i", "x"),
        ),
        (
            lambda: ours.increment(present, "s", 1),
            lambda: official.increment(present, "s", 1),
        ),
        (
            lambda: ours.put(present, {"i": 1}, policy=create),
            lambda: official.put(
                present, {"i": 1}, policy={"exists": aerospike.POLICY_EXISTS_CREATE}
            ),
        ),
        (
            lambda: ours.put(present, {"i": 1}, {"gen": 77}),
            lambda: official.put(
                present, {"i": 1}, {"gen": 77}, {"gen": aerospike.POLICY_GEN_EQ}
            ),
        ),
    ]:
        assert codes(mine) == codes(theirs) != 0


def stored_batch(official, count):
    choose = random.Random(count)
    keys = []
    for i in range(count):
        key = ("test", ["one", "two"][i % 2], [i, f"k{i}"][i % 3 == 0])
        keys.append(key)
        if i % 7 == 3:
            continue  # not stored
        official.put(
            key,
            {
                f"f{j}": choose.choice([choose.random(), j, f"t{j}", [i, j]])
                for j in range(1 + i % 20)
            },
        )
    choose.shuffle(keys)
    return keys


@pytest.mark.parametrize("count", [1, 30, 500])
def test_batches(ours, official, count):
    keys = stored_batch(official, count)
    theirs = official.batch_read(keys).batch_records
    h = ours.batch_read(keys)
    assert h.requested == len(theirs) == count
    assert h.found_count() == sum(record.result == 0 for record in theirs)
    for mine, bins, other in zip(h.batch_records, h.to_list(), theirs, strict=True):
        assert mine.result == other.result
        assert mine.key[:3] == other.key[:3]
        if other.result == 0:
            assert same(bins, other.record[2])
            assert same(mine.record[2], other.record[2])
            assert mine.record[1]["gen"] == other.record[1]["gen"]
        else:
            assert bins is None
            assert mine.record is None
    some = ["f0", "f3", "nothing"]
    theirs = official.batch_read(keys, some).batch_records
    for bins, other in zip(ours.batch_read(keys, some).to_list(), theirs, strict=True):
        assert same(bins, other.record[2] if other.result == 0 else None)


def test_arrays_hold_the_values_of_the_official_client(ours, official):
    np = pytest.importorskip("numpy")
    choose = random.Random(3)
    keys = [("test", "arrays", i) for i in range(300)]
    rows = [[choose.uniform(-1e6, 1e6) for _ in range(16)] for _ in keys]
    for key, row in zip(keys, rows, strict=True):
        official.put(key, {f"f{j}": value for j, value in enumerate(row)})
    dtype = np.dtype([(f"f{j}", "<f8") for j in range(16)])
    result = ours.batch_read(keys).to_numpy(dtype)
    assert (result.batch_records.view("f8").reshape(-1, 16) == np.array(rows)).all()


@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_peer(ours, peer, name):
    key = ("test", "peer", name)
    peer.put(key, {"v": VALUES[name]})
    record = ours.get(key)
    theirs = peer.get(key)
    assert same(record.bins, theirs.bins)
    assert tuple(record) == tuple(theirs)
    assert record._fields == theirs._fields
    assert record.key._fields == theirs.key._fields
    ours.put(key, {"v": VALUES[name], "more": 1})
    assert same(peer.get(key).bins, {"v": VALUES[name], "more": 1})


def test_batches_of_the_peer(ours, peer, official):
    keys = stored_batch(official, 200)
    keys.append(("test", "one", None, official.exists(keys[0])[0][3]))
    mine = ours.batch_read(keys)
    theirs = peer.batch_read(keys)
    assert same(mine.to_dict(), theirs.to_dict())
    assert same(mine.to_list(), theirs.to_list())
    assert mine.all_user_keys() == theirs.all_user_keys()
    assert mine.found_count() == theirs.found_count()
    assert len(mine) == len(theirs)
    assert set(mine.keys()) == set(theirs.keys())
    for one, two in zip(mine.batch_records, theirs.batch_records, strict=True):
        assert one.result == two.result
        assert tuple(one.key)[:3] == tuple(two.key)[:3]
    header = ours.batch_read(keys, []), peer.batch_read(keys, [])
    assert header[0].to_list() == header[1].to_list()
    assert header[0].to_dict() == header[1].to_dict()


def test_arrays_of_the_peer(ours, peer):
    np = pytest.importorskip("numpy")
    keys = [("test", "peer arrays", i) for i in range(50)]
    for i, key in enumerate(keys[:40]):
        bins = {"i": i - 20, "f": i / 3, "b": bytes([i]) * (i % 9), "s": "t" * (i % 5)}
        bins["v"] = np.arange(4, dtype="f4").tobytes()
        if i % 5 == 0:
            del bins["f"]
        ours.put(key, bins)
    dtype = np.dtype(
        [
            ("f", "f4"),
            ("i", "i2"),
            ("nothing", "u8"),
            ("b", "V4"),
            ("s", "S3"),
            ("v", "f4", (3,)),
        ]
    )
    mine = ours.batch_read(keys).to_numpy(dtype)
    theirs = peer.batch_read(keys).to_numpy(dtype)
    assert mine.batch_records.tobytes() == theirs.batch_records.tobytes()
    assert (mine.result_codes == theirs.result_codes).all()
    assert (mine.meta == theirs.meta).all()
    assert mine._map == theirs._map
    assert repr(mine) == repr(theirs)
    for bad in [
        [("s", "i4")],
        [("b", "f4")],
        [("i", "S4")],
        [("i", "u2")],
        [("f", "u1")],
    ]:
        errors = []
        for client in [ours, peer]:
            try:
                client.batch_read(keys).to_numpy(np.dtype(bad))
                errors.append(None)
            except (TypeError, ValueError, OverflowError) as error:
                errors.append(type(error))
        assert errors[0] is errors[1]
