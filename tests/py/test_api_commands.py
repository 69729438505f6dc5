# SPDX-License-Identifier: Apache-2.0
"""Every command, sync and async, against the development server."""

import math

import pytest

import aeroloop
from aeroloop import (
    AerospikeKey,
    BinTypeError,
    ExistsResult,
    InfoNodeResult,
    Record,
    RecordExistsError,
    RecordGenerationError,
    RecordMetadata,
    RecordNotFound,
)

VALUES = [
    0,
    1,
    -1,
    2**63 - 1,
    -(2**63),
    1.5,
    -0.0,
    math.inf,
    5e-324,
    True,
    False,
    "",
    "text",
    "\u00e9\u4e2d\U0001f600",
    "with\0nul",
    "x" * 100_000,
    b"",
    b"\0\xff",
    bytes(100_000),
    [],
    {},
    [None, True, 1, -5, 1.5, "a", b"b", [1, [2]], {"k": {"l": [3]}}],
    {"a": 1, 2: "b", b"c": [1], -7: None},
    list(range(1000)),
    {i: str(i) for i in range(500)},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_value_comes_back_with_its_type(db, key, value):
    assert db.put(key, {"a": value}) is None
    bins = db.get(key).bins
    assert bins == {"a": value}
    assert type(bins["a"]) is type(value)


def test_special_floats_are_kept_bit_by_bit(db, key):
    db.put(key, {"a": -0.0, "b": math.nan, "c": [math.nan, -0.0]})
    bins = db.get(key).bins
    assert math.copysign(1, bins["a"]) == -1
    assert math.isnan(bins["b"])
    assert math.isnan(bins["c"][0])
    assert math.copysign(1, bins["c"][1]) == -1


def test_subclasses_are_stored_as_their_base(db, key):
    from collections import OrderedDict
    from enum import IntEnum

    class Colour(IntEnum):
        RED = 3

    class Text(str):
        pass

    db.put(key, {"a": Colour.RED, "b": Text("x"), "c": OrderedDict(z=[Text("y")])})
    assert db.get(key).bins == {"a": 3, "b": "x", "c": {"z": ["y"]}}


def test_bytearray_is_a_blob(db, key):
    db.put(key, {"a": bytearray(b"ab"), "b": [bytearray(b"c")]})
    assert db.get(key).bins == {"a": b"ab", "b": [b"c"]}


def test_get_returns_named_tuples(db, key):
    db.put(key, {"a": 1})
    record = db.get(key)
    assert type(record) is Record
    assert type(record.key) is AerospikeKey
    assert type(record.meta) is RecordMetadata
    assert record.key[:3] == key
    assert len(record.key.digest) == 20
    assert record.meta == (1, 4294967295)
    assert Record._fields == ("key", "meta", "bins")
    with pytest.raises(RecordNotFound) as caught:
        db.get((*key[:2], "nobody"))
    assert str(caught.value).startswith("AEROSPIKE_ERR (2)")
    assert caught.value.code == caught.value.result_code == 2
    assert caught.value.node
    assert caught.value.attempts == 1
    assert caught.value.in_doubt is False


def test_key_forms(db, key):
    db.put(key, {"a": 1})
    digest = db.get(key).key.digest
    assert db.get((*key, None)).bins == {"a": 1}
    assert db.get((*key, digest)).bins == {"a": 1}
    assert db.get((*key[:2], None, digest)).key == (*key[:2], None, digest)
    assert db.get((*key[:2], "another", digest)).bins == {"a": 1}
    assert db.get(AerospikeKey(*key, bytearray(digest))).bins == {"a": 1}


@pytest.mark.parametrize(
    "user_key", [b"\x83X\xb5\xdd", b"a\0b", b"", bytearray(b"m"), memoryview(b"v")]
)
def test_bytes_keys_are_never_cut(db, key, user_key):
    db.put((*key[:2], user_key), {"a": 1})
    record = db.get((*key[:2], bytes(user_key)))
    assert record.bins == {"a": 1}
    assert record.key.user_key == bytes(user_key)
    assert db.exists((*key[:2], bytes(user_key) + b"\0")).meta is None


def test_bytes_key_as_string_has_the_digest_of_text(hosts, key):
    with aeroloop.client({"hosts": hosts, "key_bytes_as": "string"}).connect() as other:
        assert (
            other.exists(("test", "api", b"abc")).key.digest
            == other.exists(("test", "api", "abc")).key.digest
        )
    with aeroloop.client({"hosts": hosts, "key_bytes_as": "blob"}).connect() as other:
        assert (
            other.exists(("test", "api", b"abc")).key.digest
            != other.exists(("test", "api", "abc")).key.digest
        )


def test_select(db, key):
    db.put(key, {"a": 1, "b": 2, "c": 3})
    assert db.select(key, ["a", "c", "none"]).bins == {"a": 1, "c": 3}
    assert db.select(key, bins=[]).bins == {}
    assert db.select(key, ["none"]).bins == {}
    with pytest.raises(RecordNotFound):
        db.select((*key[:2], "nobody"), ["a"])
    with pytest.raises(RecordNotFound):
        db.select((*key[:2], "nobody"), [])
    for bad in ["a", None, {"a"}, 5]:
        with pytest.raises(TypeError):
            db.select(key, bad)


def test_exists(db, key):
    missing = db.exists(key)
    assert type(missing) is ExistsResult
    assert missing.key[:3] == key
    assert missing.meta is None
    db.put(key, {"a": 1})
    assert db.exists(key).meta.gen == 1


def test_remove(db, key):
    db.put(key, {"a": 1})
    assert db.remove(key) is None
    assert db.exists(key).meta is None
    with pytest.raises(RecordNotFound, match=r"AEROSPIKE_ERR \(2\): Record not found"):
        db.remove(key)


def test_none_deletes_a_bin(db, key):
    db.put(key, {"a": 1, "b": 2})
    db.put(key, {"a": None})
    assert db.get(key).bins == {"b": 2}
    db.put(key, {"c": [None, {"x": None}]})
    assert db.get(key).bins == {"b": 2, "c": [None, {"x": None}]}


def test_put_without_bins_is_refused(db, key):
    with pytest.raises(ValueError, match="empty"):
        db.put(key, {})
    with pytest.raises(TypeError, match="bins argument must be a dict, got NoneType"):
        db.put(key, None)


def test_touch_and_ttl(db, key):
    db.put(key, {"a": 1}, {"ttl": 1000})
    assert 995 <= db.get(key).meta.ttl <= 1000
    assert db.touch(key, 5000) is None
    assert 4995 <= db.get(key).meta.ttl <= 5000
    db.touch(key, meta={"ttl": -1})
    assert db.get(key).meta.ttl == 4294967295
    db.touch(key, val=100, meta={"ttl": 700}, policy={"ttl": 800})
    assert db.get(key).meta.ttl <= 100
    with pytest.raises(RecordNotFound):
        db.touch((*key[:2], "nobody"))
    with pytest.raises(OverflowError):
        db.touch(key, -1)
    with pytest.raises(TypeError):
        db.touch(key, "5")


def test_append_and_prepend(db, key):
    db.append(key, "s", "b")
    db.prepend(key, "s", "a")
    db.append(key, bin="x", val=b"2")
    db.prepend(key, "x", bytearray(b"1"))
    assert db.get(key).bins == {"s": "ab", "x": b"12"}
    for bad in [1, 1.5, None, ["a"], True]:
        with pytest.raises(TypeError):
            db.append(key, "s", bad)
    with pytest.raises(BinTypeError):
        db.prepend(key, "x", "text")


def test_increment(db, key):
    db.increment(key, "i", 5)
    db.increment(key, "i", -7)
    db.increment(key, "f", 1.5)
    db.increment(key, "f", offset=1.0)
    assert db.get(key).bins == {"i": -2, "f": 2.5}
    for bad in [True, "1", None, [1]]:
        with pytest.raises(TypeError, match="increment offset must be an int or float"):
            db.increment(key, "i", bad)
    with pytest.raises(OverflowError):
        db.increment(key, "i", 2**63)


def test_remove_bin(db, key):
    db.put(key, {"a": 1, "b": 2, "c": 3})
    assert db.remove_bin(key, ["a", "c", "none"]) is None
    assert db.get(key).bins == {"b": 2}
    with pytest.raises(ValueError, match="empty"):
        db.remove_bin(key, [])
    with pytest.raises(TypeError):
        db.remove_bin(key, "a")


def test_generation(db, key):
    db.put(key, {"a": 1})
    db.put(key, {"a": 2}, {"gen": 1})
    with pytest.raises(RecordGenerationError) as caught:
        db.put(key, {"a": 3}, {"gen": 1})
    assert caught.value.code == 3
    # The policy says how to compare, meta still what is expected.
    db.put(key, {"a": 3}, {"gen": 1}, {"gen": aeroloop.POLICY_GEN_IGNORE})
    db.put(key, {"a": 4}, {"gen": 9}, {"gen": aeroloop.POLICY_GEN_GT})
    assert db.get(key).bins == {"a": 4}


def test_exists_policies(db, key):
    create = {"exists": aeroloop.POLICY_EXISTS_CREATE_ONLY}
    db.put(key, {"a": 1, "b": 1}, policy=create)
    with pytest.raises(RecordExistsError):
        db.put(key, {"a": 2}, policy=create)
    db.put(key, {"a": 3}, policy={"exists": aeroloop.POLICY_EXISTS_REPLACE})
    assert db.get(key).bins == {"a": 3}
    with pytest.raises(RecordNotFound):
        db.put(
            (*key[:2], "nobody"),
            {"a": 1},
            {"exists": aeroloop.POLICY_EXISTS_UPDATE_ONLY},
        )
    # A policy beats meta.
    db.put(key, {"b": 1}, create, {"exists": aeroloop.POLICY_EXISTS_IGNORE})
    assert db.get(key).bins == {"a": 3, "b": 1}


def test_policies_are_accepted(db, key):
    write = {
        "socket_timeout": 500,
        "total_timeout": 1000,
        "max_retries": 1,
        "sleep_between_retries": 5,
        "timeout_delay": 0,
        "key": aeroloop.POLICY_KEY_SEND,
        "commit_level": aeroloop.POLICY_COMMIT_LEVEL_MASTER,
        "durable_delete": False,
        "filter_expression": None,
        "read_mode_ap": 0,
        "read_touch_ttl_percent": 0,
    }
    read = {
        "replica": aeroloop.POLICY_REPLICA_MASTER,
        "read_mode_ap": aeroloop.POLICY_READ_MODE_AP_ALL,
        "total_timeout": 0,
    }
    db.put(key, {"a": 1}, policy=write)
    assert db.get(key, read).bins == {"a": 1}
    assert db.exists(key, policy=read).meta.gen == 1


def test_info(db):
    rows = db.info_all("build")
    assert [type(row) for row in rows] == [InfoNodeResult] * len(rows)
    assert len(rows) == len(db.get_node_names()) >= 1
    assert {row.node_name for row in rows} == set(db.get_node_names())
    assert {row.error_code for row in rows} == {0}
    assert rows[0].response
    assert db.info_random_node("build", {"timeout": 2000}) == rows[0].response
    assert "test" in db.info_random_node(command="namespaces")
    with pytest.raises(TypeError):
        db.info_all(5)
    with pytest.raises(ValueError, match="NUL"):
        db.info_all("a\0b")


def test_ping_and_state(db):
    assert db.ping() is True
    assert db.is_connected() is True


def test_arguments_by_name(db, key):
    db.put(key=key, bins={"a": 1}, meta=None, policy=None)
    assert db.get(key=key, policy=None).bins == {"a": 1}
    assert db.batch_read(keys=[key], bins=None, policy=None).found_count() == 1
    db.remove(key=key, meta=None, policy=None)


def test_wrong_arguments_are_type_errors(db, key):
    for args, kwargs in [
        ((), {}),
        ((key, None, 1), {}),
        ((key,), {"nothing": 1}),
        ((key,), {"key": key}),
    ]:
        with pytest.raises(TypeError):
            db.get(*args, **kwargs)
