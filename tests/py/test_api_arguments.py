# SPDX-License-Identifier: Apache-2.0
"""Bad arguments: each is refused with an error that says where it is, nothing is sent,
and nothing is left behind."""

import array
import datetime
import decimal
import uuid

import pytest

import aeroloop
from aeroloop import ClientError, InvalidArgError

np = pytest.importorskip("numpy")

UNSUPPORTED = [
    np.int64(5),
    np.float32(0.1),
    np.bool_(1),
    np.array([1]),
    {1},
    frozenset([1]),
    (1, 2),
    datetime.datetime(2024, 1, 1),
    decimal.Decimal(1),
    uuid.UUID(int=1),
    memoryview(b"x"),
    array.array("b", b"x"),
    range(3),
    object(),
    (i for i in range(2)),
    1j,
]


@pytest.mark.parametrize("value", UNSUPPORTED, ids=lambda v: type(v).__name__)
def test_unsupported_value_names_bin_and_type(db, key, value):
    for bins in [
        {"ok": 1, "bad": value},
        {"ok": 1, "bad": [1, value]},
        {"ok": 1, "bad": {"k": [value]}},
    ]:
        with pytest.raises(TypeError) as caught:
            db.put(key, bins)
        assert "Unsupported type for Aerospike value" in str(caught.value)
        assert type(value).__name__ in str(caught.value)
        assert "'bad'" in str(caught.value)
    assert db.exists(key).meta is None


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 2**200, -(2**200)])
def test_integers_outside_of_64_bits(db, key, number):
    for call in [
        lambda: db.put(key, {"bad": number}),
        lambda: db.put(key, {"bad": [number]}),
        lambda: db.put(key, {"bad": {1: number}}),
        lambda: db.put(key, {"bad": {number: 1}}),
    ]:
        with pytest.raises(OverflowError, match="bad"):
            call()
    with pytest.raises(OverflowError, match="user key"):
        db.get((*key[:2], number))
    with pytest.raises(OverflowError, match="user key"):
        db.batch_read([key, (*key[:2], number)])
    with pytest.raises(OverflowError):
        db.increment(key, "a", number)
    for meta in [{"ttl": number}, {"gen": number}]:
        with pytest.raises((OverflowError, InvalidArgError)):
            db.put(key, {"a": 1}, meta)
    for policy in [
        {"total_timeout": number},
        {"max_retries": number},
        {"replica": number},
        {"exists": number},
    ]:
        with pytest.raises(OverflowError):
            db.put(key, {"a": 1}, policy=policy)
    assert db.exists(key).meta is None
    assert len(str(db.is_connected())) > 0  # no error is left pending


@pytest.mark.parametrize("name", ["a\0b", "\0", "\ud800", ""])
def test_bad_bin_names(db, key, name):
    with pytest.raises(ValueError):  # noqa: PT011 - UnicodeEncodeError is one too
        db.put(key, {"good": 1, name: 2})
    with pytest.raises(ValueError):  # noqa: PT011
        db.select(key, [name])
    with pytest.raises(ValueError):  # noqa: PT011
        db.batch_read([key], [name])
    with pytest.raises(ValueError):  # noqa: PT011
        db.append(key, name, "x")
    with pytest.raises(ValueError):  # noqa: PT011
        db.remove_bin(key, ["good", name])
    assert db.exists(key).meta is None


@pytest.mark.parametrize("text", ["x" * 14, "x" * 15, "\u00e9" * 7, "e\u0301"])
def test_bin_names_up_to_15_bytes(db, key, text):
    db.put(key, {text: 1, "b": 2})
    assert db.get(key).bins == {text: 1, "b": 2}
    assert db.select(key, [text]).bins == {text: 1}
    assert db.batch_read([key], [text]).to_list() == [{text: 1}]


@pytest.mark.parametrize("text", ["x" * 16, "\u00e9" * 8, "\U0001f600" * 4])
def test_bin_names_over_15_bytes(db, key, text):
    match = f"Bin name '{text}' exceeds the 15-byte limit \\(16 bytes\\)"
    with pytest.raises(ValueError, match=match):
        db.put(key, {"good": 1, text: 1})
    with pytest.raises(ValueError, match=match):
        db.select(key, [text])
    with pytest.raises(ValueError, match=match):
        db.batch_read([key], bins=["good", text])
    with pytest.raises(ValueError, match=match):
        db.increment(key, text, 1)
    assert db.exists(key).meta is None


@pytest.mark.parametrize("name", [1, b"a", None, ("a",)])
def test_bin_names_are_str(db, key, name):
    with pytest.raises(TypeError):
        db.put(key, {name: 1})
    with pytest.raises(TypeError):
        db.select(key, [name])


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_lone_surrogates(db, key, text):
    for place, call in [
        ("namespace", lambda: db.get((text, "api", 1))),
        ("set", lambda: db.get(("test", text, 1))),
        ("user key", lambda: db.get(("test", "api", text))),
        ("bin 'a'", lambda: db.put(key, {"a": text})),
        ("bin 'a'", lambda: db.put(key, {"a": [text]})),
        ("bin 'a'", lambda: db.put(key, {"a": {text: 1}})),
        ("user key", lambda: db.batch_read([key, ("test", "api", text)])),
        ("command", lambda: db.info_all(text)),
    ]:
        with pytest.raises(UnicodeEncodeError) as caught:
            call()
        assert place in str(caught.value)
    assert db.exists(key).meta is None


def test_nul_in_names(db, key):
    with pytest.raises(ValueError, match="namespace"):
        db.get(("te\0st", "api", 1))
    with pytest.raises(ValueError, match="set"):
        db.get(("test", "a\0pi", 1))
    db.put((*key[:2], "a\0b"), {"a": 1})
    assert db.get((*key[:2], "a\0b")).bins == {"a": 1}
    assert db.exists((*key[:2], "a")).meta is None


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (["test", "api", 1], TypeError, "tuple"),
        ("test", TypeError, "tuple"),
        (None, TypeError, "tuple"),
        ((), ValueError, "at least 3 elements: \\(namespace, set, key\\)"),
        (("test", "api"), ValueError, "at least 3"),
        (("test", "api", 1, None, 5), ValueError, "3 or 4 elements .*got 5"),
        ((1, "api", 1), TypeError, "namespace"),
        ((b"test", "api", 1), TypeError, "namespace"),
        (("test", None, 1), TypeError, "set"),
        (("test", "api", None), ValueError, "Invalid key"),
        (("test", "api", 1.5), ValueError, "Invalid key"),
        (("test", "api", True), ValueError, "Invalid key"),
        (("test", "api", [1]), ValueError, "Invalid key"),
        (("test", "api", np.int64(1)), ValueError, "Invalid key"),
        (("test", "api", 1, b"x" * 19), ValueError, "exactly 20 bytes, got 19"),
        (("test", "api", 1, "x" * 20), TypeError, "digest"),
        (("n" * 32, "api", 1), InvalidArgError, "(?i)namespace"),
        (("", "api", 1), InvalidArgError, "(?i)namespace"),
        (("test", "\u00e9" * 32, 1), InvalidArgError, "(?i)set"),
    ],
)
def test_bad_keys(db, bad, error, match):
    for call in [
        lambda: db.get(bad),
        lambda: db.put(bad, {"a": 1}),
        lambda: db.batch_read([("test", "api", 1), bad]),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize(
    "bad", [None, 1.5, (1, 2), True, float("nan"), object(), frozenset()]
)
def test_bad_map_keys(db, key, bad):
    with pytest.raises(TypeError, match="map key"):
        db.put(key, {"a": {bad: 1}})
    with pytest.raises(TypeError, match="map key"):
        db.put(key, {"a": [{"x": {bad: 1}}]})
    assert db.exists(key).meta is None


def nested(depth, container):
    value = 1
    for _ in range(depth):
        value = [value] if container is list else {"k": value}
    return value


@pytest.mark.parametrize("container", [list, dict])
def test_depth_limit(db, key, container):
    for depth in [31, 64, 128]:
        db.put(key, {"a": nested(depth, container)})
        assert db.get(key).bins == {"a": nested(depth, container)}
    for depth in [129, 255, 1000, 100_000]:
        with pytest.raises(ValueError, match="128"):
            db.put(key, {"a": nested(depth, container)})


def test_values_that_contain_themselves(db, key):
    loop_list = []
    loop_list.append(loop_list)
    loop_dict = {}
    loop_dict["k"] = [loop_dict]
    for value in [loop_list, loop_dict]:
        with pytest.raises(ValueError, match="depth"):
            db.put(key, {"a": value})


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ({"total_timout": 5}, ValueError),
        ({"total_timeout": None}, TypeError),
        ({"total_timeout": 0.5}, TypeError),
        ({"total_timeout": "5"}, TypeError),
        ({"total_timeout": True}, TypeError),
        ({"total_timeout": -1}, OverflowError),
        ({"total_timeout": 2**32}, OverflowError),
        ({"max_retries": -1}, OverflowError),
        ({"durable_delete": 1}, TypeError),
        ({"exists": "x"}, TypeError),
        ({"read_touch_ttl_percent": 101}, InvalidArgError),
        ({"read_touch_ttl_percent": -2}, InvalidArgError),
        ({"concurrency": 2}, ValueError),
        ({"filter_expression": {"__expr__": "eq"}}, ClientError),
        ({5: 1}, ValueError),
        ([], TypeError),
        ("x", TypeError),
    ],
)
def test_bad_policies(db, key, policy, error):
    for call in [
        lambda: db.get(key, policy),
        lambda: db.put(key, {"a": 1}, policy=policy),
        lambda: db.batch_read([key], policy=policy),
    ]:
        with pytest.raises(error):
            call()
    assert db.exists(key).meta is None


def test_unknown_keys_suggest_the_nearest(db, key, monkeypatch):
    with pytest.raises(
        ValueError, match=r"'total_timout'.*did you mean 'total_timeout'"
    ):
        db.get(key, {"total_timout": 5})
    with pytest.raises(ValueError, match="'generation' in meta"):
        db.put(key, {"a": 1}, {"generation": 5})
    monkeypatch.setenv("AEROLOOP_UNKNOWN_KEYS", "ignore")
    db.put(key, {"a": 1}, {"generation": 5}, {"total_timout": 5})
    assert db.get(key).bins == {"a": 1}


@pytest.mark.parametrize(
    ("ttl", "error"),
    [
        (-4, InvalidArgError),
        (2**32, InvalidArgError),
        (True, TypeError),
        ("60", TypeError),
        (60.0, TypeError),
        (None, TypeError),
    ],
)
def test_bad_ttl(db, key, ttl, error):
    with pytest.raises(error):
        db.put(key, {"a": 1}, {"ttl": ttl})
    with pytest.raises(error):
        db.put(key, {"a": 1}, policy={"ttl": ttl})
    with pytest.raises(error):
        db.touch(key, 0, {"ttl": ttl})


@pytest.mark.parametrize("ttl", [-3, -2, -1, 0, 1, 1000])
def test_good_ttl(db, key, ttl):
    db.put(key, {"a": 1}, {"ttl": ttl})
    assert db.get(key).bins == {"a": 1}


@pytest.mark.parametrize("gen", [-1, 2**32, 65536, True, 1.0, "1", None])
def test_bad_generation(db, key, gen):
    with pytest.raises((OverflowError, TypeError, InvalidArgError)):
        db.put(key, {"a": 1}, {"gen": gen})


def test_info_policy_has_one_key(db):
    with pytest.raises(ValueError, match="total_timeout"):
        db.info_all("build", {"total_timeout": 5})
    with pytest.raises(OverflowError):
        db.info_all("build", {"timeout": -1})


def test_constants_are_ints():
    names = [name for name in aeroloop.__all__ if name.isupper()]
    assert len(names) == 171
    assert all(type(getattr(aeroloop, name)) is int for name in names)
    assert aeroloop.AEROSPIKE_ERR_NO_MORE_CONNECTIONS == -7
    assert aeroloop.POLICY_EXISTS_CREATE_ONLY == 4
