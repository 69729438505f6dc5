# SPDX-License-Identifier: Apache-2.0
"""Batches that write, sync and async: results, policies, retry, arrays, arguments."""

import asyncio
import signal
import threading
import time

import pytest

import aeroloop
from aeroloop import (
    OPERATOR_APPEND,
    OPERATOR_INCR,
    OPERATOR_READ,
    OPERATOR_WRITE,
    AerospikeKey,
    AerospikeTimeoutError,
    BatchRecord,
    BatchRetryInfo,
    BatchWriteResult,
    Record,
    RecordMetadata,
)
from aeroloop.devserver import DevServer
from support.clients import AsyncDriver, SyncDriver

SEND = {"key": aeroloop.POLICY_KEY_SEND}


@pytest.fixture
def keys(key):
    return [(*key[:2], f"{key[2]}-{i}") for i in range(6)]


def results(answer):
    return [record.result for record in answer.batch_records]


def test_batch_write(db, keys):
    bins = [{"a": i, "b": [i, {"x": None}], "s": "t" * i} for i in range(6)]
    answer = db.batch_write(list(zip(keys, bins, strict=True)))
    assert type(answer) is BatchWriteResult
    assert BatchWriteResult._fields == ("batch_records", "retry")
    assert answer.retry == BatchRetryInfo() == (1, 1, False, 0)
    assert type(answer.retry) is BatchRetryInfo
    for key, record in zip(keys, answer.batch_records, strict=True):
        assert type(record) is BatchRecord
        assert record._fields == ("key", "result", "record", "in_doubt")
        assert type(record.key) is AerospikeKey
        assert record.key[:3] == key
        assert record.key.digest == db.get(key).key.digest
        assert (record.result, record.in_doubt) == (0, False)
        assert type(record.record) is Record
        assert type(record.record.meta) is RecordMetadata
        assert record.record == (record.key, (1, 4294967295), {})
    assert [db.get(key).bins for key in keys] == bins


def test_results_are_per_record(db, keys):
    db.put(keys[1], {"a": 1})
    db.put(keys[2], {"a": 1})
    answer = db.batch_write(
        [
            (keys[0], {"a": 1}),
            (keys[1], {"a": 2}, {"gen": 9}),
            (keys[2], {"a": 2}, {"gen": 1, "ttl": 500}),
            (keys[3], {"a": 1}, {"exists": aeroloop.POLICY_EXISTS_UPDATE_ONLY}),
            (keys[4], {"a": 1}, None),
            (("none", "x", 1), {"a": 1}),
        ]
    )
    assert results(answer) == [0, 3, 0, 2, 0, 20]
    assert [r.record is None for r in answer.batch_records] == [
        code != 0 for code in results(answer)
    ]
    assert answer.batch_records[2].record.meta.gen == 2
    assert 499 <= answer.batch_records[2].record.meta.ttl <= 500
    assert db.get(keys[1]).bins == {"a": 1}
    assert db.get(keys[4]).bins == {"a": 1}


def test_meta_of_a_record_beats_the_policy(db, keys):
    db.put(keys[0], {"a": 1})
    policy = {"ttl": 100, "exists": aeroloop.POLICY_EXISTS_CREATE_ONLY}
    answer = db.batch_write(
        [
            (keys[0], {"a": 2}),
            (keys[0], {"a": 3}, {"exists": aeroloop.POLICY_EXISTS_IGNORE, "ttl": 900}),
            (keys[1], {"a": 4}),
        ],
        policy=policy,
    )
    assert results(answer) == [5, 0, 0]
    assert 899 <= db.get(keys[0]).meta.ttl <= 900
    assert 99 <= db.get(keys[1]).meta.ttl <= 100
    gen = {"gen": aeroloop.POLICY_GEN_GT}
    answer = db.batch_write([(keys[0], {"a": 5}, {"gen": 2})], gen)
    assert results(answer) == [0]  # meta: equal


def test_null_removes_a_bin_and_the_last_one_the_record(db, keys):
    db.put(keys[0], {"a": 1, "b": 2})
    db.put(keys[1], {"a": 1})
    answer = db.batch_write([(keys[0], {"a": None}), (keys[1], {"a": None})])
    assert results(answer) == [0, 0]
    assert db.get(keys[0]).bins == {"b": 2}
    assert db.exists(keys[1]).meta is None


def test_the_same_key_again(db, keys):
    answer = db.batch_write([(keys[0], {"a": 1}), (keys[0], {"b": 2})])
    assert sorted(r.record.meta.gen for r in answer.batch_records) == [1, 2]
    assert db.get(keys[0]).bins == {"a": 1, "b": 2}


def test_batch_operate(db, keys):
    ops = [
        {"op": OPERATOR_INCR, "bin": "n", "val": 2},
        {"op": OPERATOR_APPEND, "bin": "s", "val": "x"},
        {"op": OPERATOR_READ, "bin": "s"},
        {"op": OPERATOR_READ, "bin": "none"},
    ]
    answer = db.batch_operate(iter(keys), ops)
    assert results(answer) == [0] * 6
    for record in answer.batch_records:
        # A write has the place of its op, as with the peer.
        assert record.record.bins == {"n": None, "s": [None, "x"], "none": None}
        assert record.record.meta.gen == 1
    assert db.get(keys[3]).bins == {"n": 2, "s": "x"}
    db.put(keys[1], {"n": "text"})
    assert results(db.batch_operate(keys, ops)) == [0, 12, 0, 0, 0, 0]


def test_batch_operate_that_reads(db, keys):
    db.put(keys[0], {"a": 1, "b": [2]})
    answer = db.batch_operate(keys[:2], [{"op": OPERATOR_READ, "bin": "b"}])
    assert results(answer) == [0, 2]
    assert answer.batch_records[0].record.bins == {"b": [2]}
    assert answer.batch_records[1].record is None
    everything = db.batch_operate(keys[:1], [{"op": OPERATOR_READ}])
    assert everything.batch_records[0].record.bins == {"a": 1, "b": [2]}


def test_batch_operate_honours_the_policy(db, keys):
    db.put(keys[0], {"a": 1})
    ops = [{"op": OPERATOR_WRITE, "bin": "a", "val": 5}]
    policy = {"exists": aeroloop.POLICY_EXISTS_UPDATE_ONLY, "ttl": 300, **SEND}
    assert results(db.batch_operate(keys[:2], ops, policy)) == [0, 2]
    assert 299 <= db.get(keys[0]).meta.ttl <= 300


def test_batch_remove(db, keys):
    for key in keys[:4]:
        db.put(key, {"a": 1})
    answer = db.batch_remove([keys[0], (keys[1], {"gen": 9}), (keys[2], {}), keys[5]])
    assert results(answer) == [0, 3, 0, 2]
    assert answer.batch_records[0].record.bins == {}
    assert [db.exists(key).meta is None for key in keys[:4]] == [
        True,
        False,
        True,
        False,
    ]
    answer = db.batch_remove(key for key in keys[1:2])
    assert results(answer) == [0]
    assert db.exists(keys[1]).meta is None


def test_empty_batches(db):
    for answer in [
        db.batch_write([]),
        db.batch_remove([]),
        db.batch_operate([], [{"op": OPERATOR_READ}]),
        db.batch_write([], retry=3),
    ]:
        assert answer.batch_records == []


def test_large_batches(db, key):
    records = [
        (
            (*key[:2], f"{key[2]} {i}"),
            {"i": i, "s": "v" * (i % 50), "l": list(range(9))},
        )
        for i in range(5000)
    ]
    assert set(results(db.batch_write(records))) == {0}
    read = db.batch_read([entry[0] for entry in records])
    assert read.to_list() == [entry[1] for entry in records]
    assert set(results(db.batch_remove([entry[0] for entry in records]))) == {0}


BAD_RECORDS = [
    (((),), TypeError, "records must be a list, got tuple"),
    ([5], TypeError, r"records\[0\] must be a \(key, bins\)"),
    ([()], ValueError, r"records\[0\] must have 2 or 3 elements"),
    ([(("test", "a", 1),)], ValueError, "must have 2 or 3 elements"),
    ([(("test", "a", 1), {"a": 1}, {}, 1)], ValueError, "got 4"),
    ([("key", {"a": 1})], TypeError, "key must be a tuple"),
    ([(("test", "a"), {"a": 1})], ValueError, "Key tuple must have at least 3"),
    ([(("test", "a", 1.5), {"a": 1})], ValueError, "Invalid key"),
    ([(("test", "a", 1), [1])], TypeError, "bins argument must be a dict, got list"),
    ([(("test", "a", 1), {})], ValueError, "bins must not be empty"),
    ([(("test", "a", 1), {1: 1})], TypeError, "bin name must be a str"),
    ([(("test", "a", 1), {"x" * 16: 1})], ValueError, "exceeds the 15-byte limit"),
    ([(("test", "a", 1), {"a": object()})], TypeError, "Unsupported type"),
    ([(("test", "a", 1), {"a": 2**64})], OverflowError, "in bin 'a'"),
    ([(("test", "a", 1), {"a": 1}, 5)], TypeError, "meta must be a dict"),
    ([(("test", "a", 1), {"a": 1}, {"gen": "x"})], TypeError, "'gen' must be an int"),
    ([(("test", "a", 1), {"a": 1}, {"ttl": 2**40})], ValueError, "ttl out of range"),
    ([(("test", "a", 1), {"a": 1}, {"tll": 1})], ValueError, "did you mean 'ttl'"),
]


@pytest.mark.parametrize("retry", [0, 2])
@pytest.mark.parametrize(("records", "error", "text"), BAD_RECORDS)
def test_bad_records_send_nothing(db, keys, records, error, text, retry):
    error = aeroloop.InvalidArgError if "range" in text else error
    if type(records) is list:
        records = [(keys[0], {"sent": 1}), *records]
        text = text.replace(r"\[0\]", r"\[1\]")
    with pytest.raises(error, match=text):
        db.batch_write(records, retry=retry)
    assert db.exists(keys[0]).meta is None


def test_other_bad_arguments(db, keys):
    good = [(keys[0], {"a": 1})]
    with pytest.raises(TypeError, match="policy must be a dict"):
        db.batch_write(good, 5)
    with pytest.raises(ValueError, match="unknown key 'total_timeot' in policy"):
        db.batch_write(good, {"total_timeot": 5})
    with pytest.raises(TypeError, match="'retry' must be an int"):
        db.batch_write(good, retry=1.5)
    with pytest.raises(OverflowError, match="'retry' is out of range"):
        db.batch_write(good, retry=-1)
    with pytest.raises(TypeError, match="not iterable"):
        db.batch_operate(5, [{"op": OPERATOR_READ}])
    with pytest.raises(ValueError, match="ops must not be empty"):
        db.batch_operate(keys, [])
    with pytest.raises(ValueError, match="Unsupported operation code: 1001"):
        db.batch_operate(keys, [{"op": 1001}])
    with pytest.raises(TypeError, match="key must be a tuple"):
        db.batch_operate(["a"], [{"op": OPERATOR_READ}])
    with pytest.raises(TypeError, match="not iterable"):
        db.batch_remove(None)
    with pytest.raises(ValueError, match="at least 3 elements"):
        db.batch_remove([(keys[0], [])])
    with pytest.raises(ValueError, match="Invalid concurrency value: 7"):
        db.batch_remove(keys, {"concurrency": 7})
    assert db.exists(keys[0]).meta is None


# ---- retry ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    with DevServer() as running:
        yield running


@pytest.fixture(params=[SyncDriver, AsyncDriver], ids=["sync", "async"])
def faulty(request, server):
    """A client of a server that other tests do not use."""
    driver = request.param({"hosts": server.hosts})
    yield driver
    server.clear_faults()
    driver.shutdown()


@pytest.mark.parametrize("code", [8, 9, 11, 14, 18])
def test_retry_until_it_works(server, faulty, keys, code):
    records = [(key, {"a": 1}) for key in keys]
    server.fault("wrong_result", command="batch", count=2, result=code)
    answer = faulty.batch_write(records, {"total_timeout": 20_000}, retry=5)
    assert results(answer) == [0] * 6
    assert answer.retry == BatchRetryInfo(3, 6, False, 0)
    assert faulty.get(keys[0]).meta.gen == 1


def test_final_codes_are_not_sent_again(server, faulty, keys):
    faulty.put(keys[0], {"a": 1})
    answer = faulty.batch_write(
        [(keys[0], {"a": 1}, {"gen": 7}), (keys[1], {"a": 1})], retry=3
    )
    assert results(answer) == [3, 0]
    assert answer.retry == BatchRetryInfo(1, 4, False, 0)
    with server.fault("wrong_result", command="batch", result=4) as fault:
        with pytest.raises(aeroloop.ServerError):
            faulty.batch_write([(keys[1], {"a": 1})], retry=3)
        assert fault.applied == 1


def test_the_last_error_is_raised_when_nothing_was_answered(server, faulty, keys):
    policy = {"total_timeout": 20_000}
    with server.fault("wrong_result", command="batch", result=18) as fault:
        with pytest.raises(aeroloop.ServerError) as caught:
            faulty.batch_write([(keys[0], {"a": 1})], policy, retry=2)
        assert fault.applied == 3
    assert caught.value.code == 18


def test_retry_stops_when_the_time_is_over(server, faulty, keys):
    policy = {"total_timeout": 150}
    with server.fault("wrong_result", command="batch", result=14):
        start = time.monotonic()
        with pytest.raises(aeroloop.ServerError) as caught:
            faulty.batch_write([(keys[0], {"a": 1})], policy, retry=10_000)
        assert time.monotonic() - start < 5
    assert caught.value.code == 14


def test_without_retry_a_code_is_the_answer(server, faulty, keys):
    with server.fault("wrong_result", command="batch", result=18) as fault:
        with pytest.raises(aeroloop.ServerError) as caught:
            faulty.batch_write([(keys[0], {"a": 1})])
        assert fault.applied == 1  # and no retries of its own: it writes
    assert caught.value.code == 18


def test_only_rows_that_failed_are_sent_again(server, faulty, keys):
    records = [(key, {"a": 1}) for key in keys]
    policy = {"total_timeout": 20_000}
    for key in keys:
        faulty.put(key, {"b": 1})
    server.fault("wrong_result", command="batch", count=2, result=14, row=0)
    answer = faulty.batch_write(records, policy, retry=2)
    assert results(answer) == [0] * 6
    assert answer.retry == BatchRetryInfo(3, 3, False, 0)
    # The first row was executed, and then its answer changed.
    assert sorted(faulty.get(key).meta.gen for key in keys) == [2, 2, 2, 2, 2, 4]
    assert [r.record.meta.gen for r in answer.batch_records] == [
        faulty.get(key).meta.gen for key in keys
    ]


def test_what_is_left_when_the_attempts_are_used_up(server, faulty, keys):
    records = [(key, {"a": 1}) for key in keys]
    policy = {"total_timeout": 20_000}
    with server.fault("wrong_result", command="batch", result=9, row="all"):
        answer = faulty.batch_write(records, policy, retry=2)
    assert results(answer) == [9] * 6
    assert answer.retry == BatchRetryInfo(3, 3, False, 6)
    with server.fault("wrong_result", command="batch", result=9, row="all"):
        answer = faulty.batch_write(records, {"total_timeout": 100}, retry=1000)
    assert results(answer) == [9] * 6
    assert answer.retry.truncated_by_timeout is True
    assert answer.retry.attempts < 100
    assert answer.retry[1:] == (1001, True, 6)
    with server.fault("wrong_result", command="batch", result=9, row="all"):
        assert results(faulty.batch_write(records)) == [9] * 6


@pytest.mark.parametrize("call", ["batch_write", "batch_operate", "batch_remove"])
def test_a_lost_reply_is_in_doubt(server, faulty, keys, call):
    policy = {"total_timeout": 300}
    arguments = {
        "batch_write": ([(keys[0], {"a": 1})], policy),
        "batch_operate": (keys[:1], [{"op": OPERATOR_INCR, "bin": "a"}], policy),
        "batch_remove": (keys[:1], policy),
    }[call]
    with (
        server.fault("lost_reply", command="batch"),
        pytest.raises(AerospikeTimeoutError) as caught,
    ):
        getattr(faulty, call)(*arguments)
    assert caught.value.in_doubt is True


def test_some_rows_without_an_answer(keys):
    """One of three nodes says nothing: the others' rows have their result."""
    many = [(*keys[0][:2], f"{keys[0][2]} {i}") for i in range(60)]
    with DevServer(nodes=3) as server:
        for make in (SyncDriver, AsyncDriver):
            db = make({"hosts": server.hosts})
            with server.fault("lost_reply", node=1, command="batch"):
                answer = db.batch_write(
                    [(key, {"a": 1}) for key in many], {"total_timeout": 500}
                )
            codes = results(answer)
            assert codes.count(0) > 20
            assert 0 < sum(code < 0 for code in codes) < 40
            for record in answer.batch_records:
                assert record.in_doubt is (record.result < 0)
                assert (record.record is None) is (record.result < 0)
            # And with retry only these are sent again.
            with server.fault("lost_reply", node=1, command="batch", count=1):
                answer = db.batch_write(
                    [(key, {"b": 1}) for key in many],
                    {"total_timeout": 400, "socket_timeout": 100},
                    retry=3,
                )
            assert answer.retry.max_attempts == 4
            if not answer.retry.truncated_by_timeout:
                assert results(answer) == [0] * 60
                assert answer.retry.attempts == 2
                assert answer.retry.unresolved == 0
            db.shutdown()


def test_cancel_while_it_waits_for_its_next_attempt(server, keys):
    async def main():
        client = aeroloop.AsyncClient({"hosts": server.hosts})
        await client.connect()
        policy = {"total_timeout": 60_000}
        with server.fault("wrong_result", command="batch", result=18):
            tasks = [
                asyncio.ensure_future(
                    client.batch_write([(keys[0], {"a": 1})], policy, retry=1000)
                )
                for _ in range(50)
            ]
            await asyncio.sleep(0.15)
            for task in tasks:
                assert task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(e, asyncio.CancelledError) for e in done)
        assert results(await client.batch_write([(keys[0], {"a": 1})])) == [0]
        await client.close()

    asyncio.run(main())
    server.clear_faults()


def test_close_while_it_waits_for_its_next_attempt(server, keys):
    async def main():
        client = aeroloop.AsyncClient({"hosts": server.hosts})
        await client.connect()
        policy = {"total_timeout": 60_000}
        with server.fault("wrong_result", command="batch", result=18):
            call = client.batch_write([(keys[0], {"a": 1})], policy, retry=1000)
            await asyncio.sleep(0.05)
            await client.close()
            with pytest.raises(aeroloop.ClientError):
                await call

    asyncio.run(main())
    server.clear_faults()


def test_a_signal_ends_the_wait(server, keys):
    class Stop(Exception):
        pass

    def handler(number, frame):
        raise Stop

    client = aeroloop.client({"hosts": server.hosts}).connect()
    before = signal.signal(signal.SIGALRM, handler)
    policy = {"total_timeout": 60_000}
    try:
        with server.fault("wrong_result", command="batch", result=18):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Stop):
                client.batch_write([(keys[0], {"a": 1})], policy, retry=100_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        server.clear_faults()
    assert results(client.batch_write([(keys[0], {"a": 1})])) == [0]
    client.close()


def test_what_is_sent_again_is_what_was_given(server, keys):
    """Changes of the caller's objects during the wait do not matter."""
    client = aeroloop.client({"hosts": server.hosts}).connect()
    digest = bytearray(client.exists(keys[0]).key.digest)
    value = [1, 2, 3]
    bins = {"a": value, "b": bytearray(b"xyz"), "c": "t"}
    key = bytearray(b"key")
    server.fault("wrong_result", command="batch", count=4, result=18)

    def change():
        time.sleep(0.02)
        value.clear()
        digest.clear()
        key.clear()
        bins["b"].clear()
        bins["c"] = None

    thread = threading.Thread(target=change)
    thread.start()
    answer = client.batch_write(
        [((*keys[0], digest), bins), ((*keys[0][:2], key), bins)],
        {"total_timeout": 60_000},
        retry=50,
    )
    thread.join()
    expected = {"a": [1, 2, 3], "b": b"xyz", "c": "t"}
    assert results(answer) == [0, 0]
    assert client.get(keys[0]).bins == expected
    assert client.get((*keys[0][:2], b"key")).bins == expected
    client.close()


# ---- arrays ---------------------------------------------------------------------

np = pytest.importorskip("numpy")

DTYPE = np.dtype(
    [
        ("_key", "i8"),
        ("i1", "i1"),
        ("u2", "u2"),
        ("i4", ">i4"),
        ("u8", "u8"),
        ("f2", "f2"),
        ("f4", "f4"),
        ("f8", ">f8"),
        ("flag", "?"),
        ("s", "S5"),
        ("v", "V3"),
        ("arr", "f4", (3,)),
        ("_hidden", "i4"),
    ]
)


def sample(count, seed=1):
    random = np.random.default_rng(seed)
    data = np.frombuffer(random.bytes(count * DTYPE.itemsize), DTYPE).copy()
    data["_key"] = np.arange(count) + seed * 1_000_000
    data["u8"] >>= 1
    data["flag"] = data["i1"] > 0
    for name in ("f2", "f4", "f8", "arr"):
        data[name] = random.normal(size=data[name].shape)
    data["f2"][:4] = [np.inf, -0.0, 6e-8, -65504]
    return data


def expected_bins(row):
    return {
        "i1": int(row["i1"]),
        "u2": int(row["u2"]),
        "i4": int(row["i4"]),
        "u8": int(row["u8"]),
        "f2": float(row["f2"]),
        "f4": float(row["f4"]),
        "f8": float(row["f8"]),
        "flag": bool(row["flag"]),
        "s": row["s"].ljust(5, b"\0"),
        "v": bytes(row["v"]),
        "arr": row["arr"].tobytes(),
    }


@pytest.mark.parametrize("retry", [0, 1])
@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a[::-1],
        lambda a: a[1::3],
        lambda a: a[:0],
        lambda a: a[:1],
    ],
    ids=["whole", "reversed", "strided", "empty", "one"],
)
def test_arrays(db, view, retry):
    data = view(sample(40))
    answer = db.batch_write_numpy(data, "test", "arrays", DTYPE, retry=retry)
    assert results(answer) == [0] * len(data)
    assert answer.retry.max_attempts == retry + 1
    for row, record in zip(data, answer.batch_records, strict=True):
        assert record.key[:3] == ("test", "arrays", int(row["_key"]))
        bins = db.get(("test", "arrays", int(row["_key"]))).bins
        assert bins == expected_bins(row)
        assert type(bins["flag"]) is bool
    db.batch_remove([record.key for record in answer.batch_records])


def test_arrays_come_back(db):
    dtype = np.dtype([("_key", "i4"), ("a", "f8"), ("b", "i2"), ("c", "V4")])
    random = np.random.default_rng(3)
    data = np.frombuffer(random.bytes(500 * dtype.itemsize), dtype).copy()
    data["_key"] = np.arange(500)
    data["a"] = random.normal(size=500)
    db.batch_write_numpy(data, "test", "back", dtype)
    keys = [("test", "back", i) for i in range(500)]
    got = db.batch_read(keys).to_numpy(
        np.dtype([("a", "f8"), ("b", "i2"), ("c", "V4")])
    )
    for name in "abc":
        assert (got.batch_records[name] == data[name]).all()


def test_keys_namespaces_and_sets_of_rows(db):
    dtype = np.dtype(
        [("id", "S6"), ("_namespace", "S8"), ("_set", "S8"), ("v", "i4"), ("_x", "i4")]
    )
    data = np.array(
        [(b"k1", b"test", b"one", 1, 0), (b"k2", b"test", b"two", 2, 0)], dtype=dtype
    )
    answer = db.batch_write_numpy(data, "none", "none", dtype, key_field="id")
    assert results(answer) == [0, 0]
    assert [r.key[:3] for r in answer.batch_records] == [
        ("test", "one", b"k1"),
        ("test", "two", b"k2"),
    ]
    assert db.get(("test", "one", b"k1")).bins == {"v": 1}
    assert db.get(("test", "two", b"k2")).bins == {"v": 2}


def test_policy_of_an_array(db):
    dtype = np.dtype([("_key", "u4"), ("v", "i4")])
    data = np.array([(77, 1), (78, 2)], dtype=dtype)
    db.batch_remove([("test", "policy", 77), ("test", "policy", 78)])
    db.put(("test", "policy", 77), {"v": 0})
    policy = {"exists": aeroloop.POLICY_EXISTS_CREATE_ONLY, "ttl": 100}
    answer = db.batch_write_numpy(data, "test", "policy", dtype, policy=policy)
    assert results(answer) == [5, 0]
    assert 99 <= db.get(("test", "policy", 78)).meta.ttl <= 100


GOOD = np.dtype([("_key", "i4"), ("v", "i4")])


@pytest.mark.parametrize(
    ("data", "dtype", "error", "text"),
    [
        ([1], GOOD, TypeError, "data must be a structured NumPy array, got list"),
        (np.zeros((2, 2), GOOD), GOOD, ValueError, "data must have 1 dimension, got 2"),
        (np.zeros((), GOOD), GOOD, ValueError, "data must have 1 dimension, got 0"),
        (b"abc", GOOD, ValueError, "data has rows of 1 bytes"),
        (np.zeros(2, "i8,i8"), GOOD, ValueError, "data has rows of 16 bytes"),
        (
            np.lib.stride_tricks.as_strided(np.zeros(9, GOOD), (4,), (4,)),
            GOOD,
            ValueError,
            "row stride of 4 bytes",
        ),
        (
            np.broadcast_to(np.zeros(1, GOOD), (4,)),
            GOOD,
            ValueError,
            "row stride of 0 bytes",
        ),
        (np.zeros(2, GOOD), "i4", TypeError, "dtype must be a numpy.dtype, got str"),
        (np.zeros(2, "i4"), np.dtype("i4"), TypeError, "dtype must be structured"),
        (
            np.zeros(2, "i4,i4"),
            np.dtype("i4,i4"),
            ValueError,
            "dtype must contain a '_key' field for the record key",
        ),
        (
            np.zeros(2, [("_key", "f8"), ("v", "i4")]),
            None,
            ValueError,
            "key field '_key' must be an integer or fixed-length bytes",
        ),
        (
            np.zeros(2, [("_key", "i4", (2,)), ("v", "i4")]),
            None,
            ValueError,
            "key field '_key' must be an integer",
        ),
        (np.zeros(2, [("_key", "i4")]), None, ValueError, "a field for a bin"),
        (
            np.zeros(2, [("_key", "i4"), ("v", "U4")]),
            None,
            TypeError,
            "dtype field 'v' must be numeric",
        ),
        (
            np.zeros(2, [("_key", "i4"), ("x" * 16, "i4")]),
            None,
            ValueError,
            "exceeds the 15-byte limit",
        ),
        (
            np.zeros(2, [("_key", "i4"), ("_set", "i4"), ("v", "i4")]),
            None,
            ValueError,
            "field '_set' must be fixed-length bytes",
        ),
        (
            np.array([(1, 1), (2, 2**63)], [("_key", "i4"), ("v", "u8")]),
            None,
            OverflowError,
            "integer in field 'v' of row 1 is outside",
        ),
        (
            np.array([(2**64 - 1, 1)], [("_key", "u8"), ("v", "u8")]),
            None,
            OverflowError,
            "integer in field '_key' of row 0 is outside",
        ),
    ],
)
@pytest.mark.parametrize("retry", [0, 2])
def test_bad_arrays(db, data, dtype, error, text, retry):
    dtype = data.dtype if dtype is None else dtype
    with pytest.raises(error, match=text):
        db.batch_write_numpy(data, "test", "bad", dtype, retry=retry)


def test_bad_arguments_of_an_array(db):
    data = np.zeros(1, GOOD)
    with pytest.raises(TypeError, match="namespace must be a str"):
        db.batch_write_numpy(data, 5, "bad", GOOD)
    with pytest.raises(TypeError, match="set_name must be a str"):
        db.batch_write_numpy(data, "test", None, GOOD)
    with pytest.raises(TypeError, match="key_field must be a str"):
        db.batch_write_numpy(data, "test", "bad", GOOD, 5)
    with pytest.raises(ValueError, match="must contain a 'id' field"):
        db.batch_write_numpy(data, "test", "bad", GOOD, "id")
    with pytest.raises(TypeError, match="missing required argument: '_dtype'"):
        db.batch_write_numpy(data, "test", "bad")


def test_array_is_not_kept(db):
    """Neither a result nor an error holds the buffer: it can be resized."""
    data = bytearray(b"ab" * 4)
    with pytest.raises(ValueError, match="rows of 1 bytes"):
        db.batch_write_numpy(data, "test", "bad", GOOD)
    data.extend(b"more")
    array = np.zeros(3, GOOD)
    array["_key"] = range(900, 903)
    db.batch_write_numpy(array, "test", "kept", GOOD, retry=1)
    array.resize(10, refcheck=True)


# ---- the official client and the peer -------------------------------------------


@pytest.mark.parametrize("nodes", [1, 3])
def test_the_same_as_the_peer(nodes):
    peer_module = pytest.importorskip("aerospike_py")
    with DevServer(nodes=nodes) as server:
        ours = aeroloop.client({"hosts": server.hosts}).connect()
        peer = peer_module.client({"hosts": server.hosts}).connect()
        seen = []
        for client, name in [(ours, "ours"), (peer, "peer")]:
            keys = [("test", "peer", f"{name} {i}") for i in range(20)]
            outcome = []
            client.put(keys[3], {"a": 1})
            written = client.batch_write(
                [
                    (key, {"a": i, "b": [i]}, {"gen": 5} if i == 3 else {"ttl": 100})
                    for i, key in enumerate(keys)
                ]
            )
            outcome.append([(r.result, r.in_doubt) for r in written.batch_records])
            outcome.append(written.retry)
            ops = [
                {"op": OPERATOR_INCR, "bin": "a", "val": 2},
                {"op": OPERATOR_READ, "bin": "a"},
                {"op": OPERATOR_READ, "bin": "none"},
            ]
            for these in (ops, ops[1:]):
                done = client.batch_operate([*keys, ("test", "peer", "nobody")], these)
                outcome.append(
                    [
                        (r.result, r.record and (r.record.meta.gen, r.record.bins))
                        for r in done.batch_records
                    ]
                )
            client.remove(("test", "peer", "nobody"))
            removed = client.batch_remove([*keys[:5], (keys[5], {"gen": 77}), keys[0]])
            outcome.append([r.result for r in removed.batch_records][:6])
            outcome.append([client.exists(key).meta is None for key in keys])
            data = sample(10, seed=8)
            plain = np.dtype([("_key", "i8"), ("i1", "i1"), ("f4", "f4"), ("s", "S5")])
            rows = np.zeros(10, plain)
            for field in plain.names:
                rows[field] = data[field]
            stored = client.batch_write_numpy(rows, "test", f"np {name}", plain)
            outcome.append([(r.result, r.key[2]) for r in stored.batch_records])
            outcome.append(
                [client.get(("test", f"np {name}", int(k))).bins for k in rows["_key"]]
            )
            seen.append(outcome)
        for mine, theirs in zip(*seen, strict=True):
            assert mine == theirs
        ours.close()
        peer.close()
