# SPDX-License-Identifier: Apache-2.0
"""operate and operate_ordered, sync and async, and as the official client does it."""

import pytest

import aeroloop
from aeroloop import (
    OPERATOR_APPEND,
    OPERATOR_DELETE,
    OPERATOR_INCR,
    OPERATOR_PREPEND,
    OPERATOR_READ,
    OPERATOR_TOUCH,
    OPERATOR_WRITE,
    AerospikeKey,
    BinTuple,
    BinTypeError,
    OperateOrderedResult,
    Record,
    RecordExistsError,
    RecordGenerationError,
    RecordMetadata,
    RecordNotFound,
)
from aeroloop.devserver import DevServer


def op(code, bin=None, val=None):
    entry = {"op": code}
    if bin is not None:
        entry["bin"] = bin
    if val is not None:
        entry["val"] = val
    return entry


def test_reads_and_writes_in_order(db, key):
    db.put(key, {"a": 1, "s": "b"})
    result = db.operate(
        key,
        [
            op(OPERATOR_READ, "a"),
            op(OPERATOR_INCR, "a", 3),
            op(OPERATOR_READ, "a"),
            op(OPERATOR_APPEND, "s", "c"),
            op(OPERATOR_PREPEND, "s", "a"),
            op(OPERATOR_READ, "s"),
            op(OPERATOR_WRITE, "l", [1, {"x": None}]),
            op(OPERATOR_READ, "l"),
            op(OPERATOR_READ, "nothing"),
            op(OPERATOR_INCR, "a", 1),
            op(OPERATOR_READ, "a"),
        ],
    )
    assert type(result) is Record
    assert type(result.key) is AerospikeKey
    assert type(result.meta) is RecordMetadata
    assert result.key[:3] == key
    assert result.key.digest == db.get(key).key.digest
    assert result.meta == (2, 4294967295)
    assert result.bins == {"a": [1, 4, 5], "s": "abc", "l": [1, {"x": None}]}
    assert db.get(key).bins == {"a": 5, "s": "abc", "l": [1, {"x": None}]}


def test_several_results_that_are_lists(db, key):
    db.put(key, {"a": [1, 2]})
    read = op(OPERATOR_READ, "a")
    assert db.operate(key, [read]).bins == {"a": [1, 2]}
    assert db.operate(key, [read, read]).bins == {"a": [[1, 2], [1, 2]]}
    assert db.operate(key, [read] * 3).bins == {"a": [[1, 2]] * 3}


def test_ordered_has_one_tuple_for_each_result(db, key):
    result = db.operate_ordered(
        key,
        [
            op(OPERATOR_WRITE, "b", "x"),
            op(OPERATOR_READ, "b"),
            op(OPERATOR_INCR, "a"),
            op(OPERATOR_READ, "a"),
            op(OPERATOR_INCR, "a", 2),
            op(OPERATOR_READ, "a"),
            op(OPERATOR_READ, "nothing"),
            op(OPERATOR_READ, "b"),
        ],
    )
    assert type(result) is OperateOrderedResult
    assert OperateOrderedResult._fields == ("key", "meta", "ordered_bins")
    assert all(type(entry) is BinTuple for entry in result.ordered_bins)
    assert result.ordered_bins == [("b", "x"), ("a", 1), ("a", 3), ("b", "x")]
    assert BinTuple._fields == ("name", "value")
    assert result.key[:3] == key
    assert result.meta.gen == 1
    assert db.operate_ordered(key, [op(OPERATOR_TOUCH)]).ordered_bins == []


def test_defaults_of_absent_values(db, key):
    db.put(key, {"i": 5, "s": "x", "gone": 1})
    db.operate(
        key,
        [
            op(OPERATOR_INCR, "i"),
            {"op": OPERATOR_APPEND, "bin": "s", "val": None},
            op(OPERATOR_PREPEND, "s"),
            op(OPERATOR_WRITE, "gone"),
        ],
    )
    assert db.get(key).bins == {"i": 6, "s": "x"}


def test_all_bins(db, key):
    db.put(key, {"a": 1, "b": 2})
    assert db.operate(key, [op(OPERATOR_READ)]).bins == {"a": 1, "b": 2}
    assert db.operate(key, [op(OPERATOR_INCR, "a", 1), op(OPERATOR_READ)]).bins == {
        "a": 2,
        "b": 2,
    }
    ordered = db.operate_ordered(key, [op(OPERATOR_READ)]).ordered_bins
    assert sorted(ordered) == [("a", 2), ("b", 2)]


def test_delete_and_touch(db, key):
    db.put(key, {"a": 1})
    touched = db.operate(key, [op(OPERATOR_TOUCH)], {"ttl": 100})
    assert touched.bins == {}
    assert touched.meta.gen == 2
    assert 99 <= db.get(key).meta.ttl <= 100
    result = db.operate(key, [op(OPERATOR_READ, "a"), op(OPERATOR_DELETE)])
    assert result.bins == {"a": 1}
    assert db.exists(key).meta is None
    # A record may be deleted and written in one step.
    db.put(key, {"a": 1, "b": 2})
    db.operate(key, [op(OPERATOR_DELETE), op(OPERATOR_WRITE, "c", 3)])
    assert db.get(key).bins == {"c": 3}


def test_all_or_nothing(db, key):
    db.put(key, {"a": 1, "s": "x"})
    with pytest.raises(BinTypeError):
        db.operate(key, [op(OPERATOR_WRITE, "a", 2), op(OPERATOR_INCR, "s", 1)])
    assert db.get(key).bins == {"a": 1, "s": "x"}


def test_meta_and_policy(db, key):
    write = [op(OPERATOR_WRITE, "a", 1)]
    db.operate(key, write, {"ttl": 50}, {"ttl": 500})
    assert 499 <= db.get(key).meta.ttl <= 500
    with pytest.raises(RecordGenerationError):
        db.operate(key, write, {"gen": 9})
    assert db.operate(key, write, meta={"gen": 1}).meta.gen == 2
    with pytest.raises(RecordExistsError):
        db.operate(key, write, policy={"exists": aeroloop.POLICY_EXISTS_CREATE_ONLY})
    with pytest.raises(RecordNotFound):
        db.operate((*key[:2], "nobody"), [op(OPERATOR_READ, "a")])


def test_many_ops(db, key):
    ops = []
    for i in range(500):
        ops += [op(OPERATOR_INCR, "n", i), op(OPERATOR_READ, "n")]
    got = db.operate_ordered(key, ops).ordered_bins
    assert got == [("n", sum(range(i + 1))) for i in range(500)]
    ops = [op(OPERATOR_WRITE, f"b{i}", [str(i)] * 3) for i in range(200)]
    db.operate(key, ops)
    assert len(db.get(key).bins) == 201


@pytest.mark.parametrize(
    ("ops", "error", "text"),
    [
        ((), TypeError, "ops must be a list, got tuple"),
        ({"op": 1}, TypeError, "ops must be a list, got dict"),
        (None, TypeError, "ops must be a list"),
        ([], ValueError, "ops must not be empty"),
        ([(1, "a")], TypeError, "Operation must be a dict, got tuple"),
        ([{}], ValueError, "Operation must have 'op' key"),
        ([{"op": None}], ValueError, "Operation must have 'op' key"),
        ([{"op": "1"}], TypeError, "Operation 'op' must be an int, got str"),
        ([{"op": True}], TypeError, "Operation 'op' must be an int, got bool"),
        ([{"op": 3}], ValueError, "Unsupported operation code: 3"),
        ([{"op": 1001}], ValueError, "Unsupported operation code: 1001"),
        ([{"op": 2001}], ValueError, "Unsupported operation code: 2001"),
        ([{"op": 2**70}], ValueError, f"Unsupported operation code: {2**70}"),
        ([{"op": -1}], ValueError, "Unsupported operation code: -1"),
        ([op(OPERATOR_WRITE)], ValueError, "write operation requires 'bin'"),
        ([op(OPERATOR_INCR)], ValueError, "increment operation requires 'bin'"),
        ([op(OPERATOR_APPEND)], ValueError, "append operation requires 'bin'"),
        ([op(OPERATOR_PREPEND)], ValueError, "prepend operation requires 'bin'"),
        ([op(OPERATOR_READ, 5)], TypeError, "bin name must be a str, got int"),
        ([op(OPERATOR_READ, "")], ValueError, "Bin name must not be empty"),
        ([op(OPERATOR_READ, "x" * 16)], ValueError, "exceeds the 15-byte limit"),
        ([op(OPERATOR_READ, "a\0b")], ValueError, "must not contain a NUL"),
        ([op(OPERATOR_WRITE, "a", {1})], TypeError, "set .in bin 'a'"),
        ([op(OPERATOR_WRITE, "a", 2**63)], OverflowError, "in bin 'a'"),
        ([op(OPERATOR_WRITE, "a", "\ud800")], UnicodeEncodeError, "in bin 'a'"),
        ([op(OPERATOR_INCR, "a", "1")], TypeError, "increment 'val' must be an int or"),
        ([op(OPERATOR_INCR, "a", True)], TypeError, "increment 'val' must be an int"),
        ([op(OPERATOR_APPEND, "a", 1)], TypeError, "append 'val' must be a str or"),
        ([op(OPERATOR_PREPEND, "a", [])], TypeError, "prepend 'val' must be a str"),
    ],
)
@pytest.mark.parametrize("method", ["operate", "operate_ordered"])
def test_bad_ops_send_nothing(db, key, method, ops, error, text):
    first = [op(OPERATOR_WRITE, "sent", 1)]
    if type(ops) is list and ops:
        ops = first + ops
    with pytest.raises(error, match=text):
        getattr(db, method)(key, ops)
    assert db.exists(key).meta is None


@pytest.mark.filterwarnings("ignore:.* is deprecated for strings:DeprecationWarning")
@pytest.mark.parametrize("nodes", [1, 3])
def test_the_official_client_gets_the_same(nodes):
    aerospike = pytest.importorskip("aerospike")
    helpers = pytest.importorskip("aerospike_helpers.operations.operations")
    names = {
        OPERATOR_READ: helpers.read,
        OPERATOR_WRITE: helpers.write,
        OPERATOR_INCR: helpers.increment,
        OPERATOR_APPEND: helpers.append,
        OPERATOR_PREPEND: helpers.prepend,
        OPERATOR_DELETE: helpers.delete,
        OPERATOR_TOUCH: helpers.touch,
    }
    lists = [
        [(OPERATOR_READ, "i")],
        [(OPERATOR_READ, "i"), (OPERATOR_READ, "none")],
        [(OPERATOR_INCR, "i", 4), (OPERATOR_READ, "i"), (OPERATOR_READ, "s")],
        [(OPERATOR_INCR, "f", 0.5), (OPERATOR_READ, "f")],
        [(OPERATOR_APPEND, "s", "z"), (OPERATOR_READ, "s"), (OPERATOR_INCR, "new", 7)],
        [(OPERATOR_READ, "l"), (OPERATOR_WRITE, "l", {"k": [1]}), (OPERATOR_READ, "m")],
        [(OPERATOR_PREPEND, "s", "a"), (OPERATOR_TOUCH,)],
        [(OPERATOR_WRITE, "w", b"\0\xff"), (OPERATOR_READ, "w"), (OPERATOR_READ, "i")],
        [(OPERATOR_READ, "s"), (OPERATOR_DELETE,)],
        [(OPERATOR_INCR, "s", 1)],
        [(OPERATOR_READ, "i"), (OPERATOR_INCR, "i", 1), (OPERATOR_READ, "i")],
    ]
    bins = {"i": 1, "f": 1.5, "s": "m", "l": [1, [2]], "m": {"a": 1, 2: "b"}}
    with (
        DevServer(nodes=nodes) as server,
        aeroloop.client({"hosts": server.hosts}).connect() as ours,
    ):
        official = aerospike.client({"hosts": server.hosts}).connect()
        for number, entries in enumerate(lists):
            outcomes = []
            for who, client in [("o", official), ("a", ours)]:
                key = ("test", "operate", f"{who}{number}")
                ops = [
                    names[code](*rest) if who == "o" else op(code, *rest)
                    for code, *rest in entries
                ]
                client.put(key, bins)
                try:
                    ordered = client.operate_ordered(key, ops)
                    client.put(key, bins)
                    plain = client.operate(key, ops)
                except (aeroloop.AerospikeError, aerospike.exception.ServerError) as e:
                    outcomes.append(e.code)
                    continue
                gen = [
                    m["gen"] if who == "o" else m.gen for m in (ordered[1], plain[1])
                ]
                got = plain[2]
                if who == "a":  # theirs keeps the last result of a bin alone
                    repeated = {
                        n for n in got if [b[0] for b in ordered[2]].count(n) > 1
                    }
                    got = {n: v[-1] if n in repeated else v for n, v in got.items()}
                left = official.exists(key)[1]
                outcomes.append(
                    (
                        [tuple(entry) for entry in ordered[2]],
                        got,
                        gen,
                        None if left is None else official.get(key)[2],
                    )
                )
            assert outcomes[0] == outcomes[1], entries
        official.close()
