# SPDX-License-Identifier: Apache-2.0
"""Calls that fail, over and over: they send nothing, and leave nothing behind. Cases
B15, B16, B18.

Which error each bad argument gives is tested with the API. Here every kind of mistake
is made again and again in a fresh process whose memory is watched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.fakeserver import FakeCluster
from support.faults import CONNECT, repeats, run_clean

pytestmark = [pytest.mark.leaks, pytest.mark.slow]


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(10, lambda number: {"i": number})
        yield cluster
        cluster.check()


# Each is a call that must raise. `good` is a key, `many` a thousand good ones.
MISTAKES = {
    "key": [
        "client.get(None)",
        "client.get(('test', 'demo'))",
        "client.get(('test', 'demo', None))",
        "client.get(('test', 'demo', 1.5))",
        "client.get(('test', 'demo', [1]))",
        "client.get(('test', 'demo', 'k', b'short'))",
        "client.get((1, 'demo', 'k'))",
        "client.get(('test', None, 'k'))",
        "client.get((lone, 'demo', 'k'))",
        "client.get(('test', lone, 'k'))",
        "client.get(('test', 'demo', lone))",
        "client.get(('te\\0st', 'demo', 'k'))",
        "client.get(('test', 'x' * 64, 'k'))",
        "client.get(('n' * 32, 'demo', 'k'))",
        "client.get(('test', 'demo', 2**64))",
        "client.get(('test', 'demo', 2**200))",
    ],
    "bins": [
        "client.put(good, None)",
        "client.put(good, [1])",
        "client.put(good, {'a': 1, 'x' * 16: 2})",
        "client.put(good, {'a': 1, '': 2})",
        "client.put(good, {'a': 1, lone: 2})",
        "client.put(good, {'a': 1, 'a\\0b': 2})",
        "client.put(good, {'a': 1, 5: 2})",
        "client.put(good, {'a': lone})",
        "client.put(good, {'a': object()})",
        "client.put(good, {'a': 2**63})",
        "client.put(good, {'a': -2**63 - 1})",
        "client.put(good, {'a': 2**200})",
        "client.put(good, {'a': [1] * 500 + [object()] + [1] * 500})",
        "client.put(good, {'a': ['x' * 100] * 500 + [lone]})",
        "client.put(good, {'a': [2**63]})",
        "client.put(good, {'a': {'k': [1, {'z': 2**63}]}})",
        "client.put(good, {'a': {lone: 1}})",
        "client.put(good, {'a': deep})",
        "client.put(good, {'a': loop})",
        "client.put(good, {'b%d' % i: [i] * 50 for i in range(30)} | {'z': {1}})",
        "client.increment(good, 'a', 'x')",
        "client.increment(good, 'a', 2**63)",
        "client.append(good, 'a', 5)",
        "client.prepend(good, 'x' * 16, 'y')",
        "client.remove_bin(good, ['a', 7])",
        "client.select(good, ['a'] * 100 + [7])",
        "client.select(good, 'abc')",
    ],
    "policy": [
        "client.get(good, 'policy')",
        "client.get(good, {'total_timout': 5})",
        "client.get(good, {'total_timeout': -1})",
        "client.get(good, {'total_timeout': 2**63})",
        "client.get(good, {'max_retries': 'x'})",
        "client.put(good, {'a': 1}, {'ttl': 2**40})",
        "client.put(good, {'a': 1}, {'gen': -1})",
        "client.put(good, {'a': 1}, {'gen': 2**63})",
        "client.put(good, {'a': [1, 2, 3]}, {'nonsense': 1})",
        "client.put(good, {'a': [1, 2, 3]}, None, {5: 1})",
        "client.touch(good, -1)",
        "client.touch(good, 2**63)",
    ],
    "batch": [
        "client.batch_read(None)",
        "client.batch_read(5)",
        "client.batch_read(many[:500] + [None] + many[500:])",
        "client.batch_read(many + [('test', 'demo')])",
        "client.batch_read(many + [('test', 'demo', lone)])",
        "client.batch_read(many + [('test', 'demo', 2**200)])",
        "client.batch_read(many, 5)",
        "client.batch_read(many, ['a'] * 20 + [None])",
        "client.batch_read(many, ['x' * 16])",
        "client.batch_read(many, None, {'concurrency': 7})",
        "client.batch_read(fails_after(500))",
    ],
    "call": [
        "client.get()",
        "client.get(good, None, None, None)",
        "client.get(nokey=1)",
        "client.put(good)",
        "client.put(good, {'a': 1}, nonsense=1)",
        "client.info_all(5)",
        "client.info_all(lone)",
        "client.info_random_node('a\\nb')",
    ],
    "config": [
        "aeroloop.client({'hosts': [('h', '3000')]}).connect()",
        "aeroloop.client({'hosts': [('h', 70000)]}).connect()",
        "aeroloop.client({'hosts': [('h', -1)]}).connect()",
        "aeroloop.client({'hosts': [('h', 3000.0)]}).connect()",
        "aeroloop.client({'hosts': [(b'h', 3000)]}).connect()",
        "aeroloop.client({'hosts': [(lone, 3000)]}).connect()",
        "aeroloop.client({'hosts': [('', 3000)]}).connect()",
        "aeroloop.client({'hosts': ['h:x', ('h', 1)]}).connect()",
        "aeroloop.client({'hosts': [('h', 1)] * 50 + [5]}).connect()",
        "aeroloop.client({'hosts': []}).connect()",
        "aeroloop.client({'hosts': 'h:3000'}).connect()",
        "aeroloop.client({'hosts': [('h', 1)], 'timeout': 'x'}).connect()",
        "aeroloop.client({'hosts': [('h', 1)], 'timeot': 5}).connect()",
        "aeroloop.client({}).connect()",
        "aeroloop.client(None).connect()",
    ],
    "answers": [
        "client.get(('test', 'demo', 0, digest_of(99)))",
        "client.batch_read([good])['no such key']",
        "client.batch_read([good]).to_numpy('f4')",
        "client.batch_read([good]).to_numpy(np.dtype([('i', 'O')]))",
        "client.batch_read([good]).to_numpy(np.dtype([('i', 'S3')]))",
        "client.batch_read([good]).to_numpy(np.dtype([('x', 'i8')]), strict=True)",
        "next(iter(client.batch_read([]).batch_records))",
    ],
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_failing_calls_leave_nothing_behind(fake: FakeCluster, kind: str) -> None:
    rounds = repeats(100_000)
    calls = ",\n    ".join(f"lambda: {call}" for call in MISTAKES[kind])
    done = run_clean(
        CONNECT
        + f"""
import gc
import numpy as np
from support.faults import memory_kb

client = aeroloop.client(config).connect()
good = key(1)
many = [key(i % 10) for i in range(1000)]
lone = "a\\ud800b"
deep = 7
for _ in range(130):
    deep = [deep]
loop = []
loop.append(loop)

def fails_after(count):
    yield from many[:count]
    raise LookupError("the iterator ends here")

calls = [
    {calls},
]

def fail(call):
    try:
        call()
    except SystemError:
        raise
    except Exception:
        return
    raise AssertionError(f"call {{calls.index(call)}} did not fail")

for call in calls:
    for _ in range(20):
        fail(call)
    len("x" * 3)  # no error is pending
    assert client.is_connected()
gc.collect()
for number, call in enumerate(calls):
    before = memory_kb()
    for _ in range({rounds}):
        fail(call)
    grown = memory_kb() - before
    assert grown < 3000, f"call {{number}}: {{grown}} KB in {rounds} rounds"
assert client.get(key(3)).bins == {{"i": 3}}
client.close()
""",
        fake,
    )
    assert done.out == ""


def test_wrong_calls_send_nothing(fake: FakeCluster) -> None:
    """Not even the good part of what was asked for."""
    kinds = ("key", "bins", "policy", "batch", "call")
    calls = ",\n    ".join(
        f"lambda: {call}" for kind in kinds for call in MISTAKES[kind]
    )
    run_clean(
        CONNECT
        + f"""
client = aeroloop.client(config).connect()
good = key(1)
many = [key(i % 10) for i in range(1000)]
lone = "a\\ud800b"
deep = 7
for _ in range(130):
    deep = [deep]
loop = []
loop.append(loop)

def fails_after(count):
    yield from many[:count]
    raise LookupError("the iterator ends here")

for call in [
    {calls},
]:
    try:
        call()
    except Exception:
        pass
client.close()
""",
        fake,
    )
    assert fake.requests == []


def test_succeeding_calls_leave_nothing_behind(fake: FakeCluster) -> None:
    rounds = repeats(100_000)
    run_clean(
        CONNECT
        + f"""
import gc
import numpy as np
from support.faults import memory_kb

client = PatientClient(config).connect()
many = [key(i % 10) for i in range(200)]
dtype = np.dtype([("i", "i8")])
value = {{"i": 1, "s": "x" * 50, "l": [1, "a", {{"k": b"b"}}], "f": 1.5, "n": None}}
calls = [
    lambda: client.get(key(3)).bins,
    lambda: client.put(key(50), value, {{"ttl": 100}}, {{"max_retries": 0}}),
    lambda: client.exists(key(3)),
    lambda: client.batch_read(many).to_dict(),
    lambda: client.batch_read(many).to_list(),
    lambda: client.batch_read(many).to_numpy(dtype).batch_records,
    lambda: [record.record for record in client.batch_read(many).batch_records],
    lambda: client.info_all("build"),
]
for call in calls:
    for _ in range(50):
        call()
gc.collect()
for number, call in enumerate(calls):
    before = memory_kb()
    for _ in range({rounds} // 4):
        call()
    grown = memory_kb() - before
    assert grown < 3000, f"call {{number}}: {{grown}} KB"
client.close()
""",
        fake,
    )
