# SPDX-License-Identifier: Apache-2.0
"""Values that nobody expects in a bin, and batches of odd shapes: cases B19, B21, B32,
B33, B35, B36."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import aeroloop
from support.fakeserver import FakeCluster
from support.fakewire import (
    BLOB,
    BOOL,
    FLOAT,
    GEOJSON,
    HLL,
    INTEGER,
    LIST,
    MAP,
    NULL,
    STRING,
    Raw,
    key,
    nested_list,
    particle_of,
)
from support.faults import (
    SOAK,
    PatientAsyncClient,
    connected,
    watchdog,
)

KEYS = [key(number) for number in range(10)]
LONG = {"total_timeout": 120_000}
DEPTH_MAX = 128
SMALL_STACK = 256 * 1024


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(10, lambda number: {"i": number})
        yield cluster
        cluster.check()


def on_a_small_stack(work: Callable[[], Any]) -> Any:
    """The result of `work` in a thread with a stack of 256 KB."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)

    before = threading.stack_size(SMALL_STACK)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


# Depth.


def nested(depth: int, kind: str) -> Any:
    value: Any = 7
    for _ in range(depth):
        value = [value] if kind == "list" else {"k": value}
    return value


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize("depth", [1, 31, 32, 64, 127, 128])
def test_depth_within_the_limit(fake: FakeCluster, depth: int, kind: str) -> None:
    """The same limit both ways: what can be written can be read."""
    with watchdog(), connected(fake) as client:

        def both_ways() -> Any:
            client.put(key(50), {"v": nested(depth, kind)})
            return client.get(key(50)).bins

        assert both_ways() == {"v": nested(depth, kind)}
        assert on_a_small_stack(both_ways) == {"v": nested(depth, kind)}
        rows = client.batch_read([key(50), key(1)])
        assert rows.to_list() == [{"v": nested(depth, kind)}, {"i": 1}]


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 255, 1000, 100_000])
def test_depth_beyond_the_limit_on_write(
    fake: FakeCluster, depth: int, kind: str
) -> None:
    value = nested(depth, kind)
    with watchdog(), connected(fake) as client:
        sent = len(fake.requests)
        with pytest.raises(ValueError, match="128"):
            client.put(key(50), {"ok": 1, "v": value})
        with pytest.raises(ValueError, match="128"):
            on_a_small_stack(lambda: client.put(key(50), {"v": value}))
        assert len(fake.requests) == sent
        client.put(key(50), {"ok": 1})
    while isinstance(value, list | dict):  # freed level by level: no recursion
        value = value.pop() if isinstance(value, list) else value.pop("k")


def test_values_that_contain_themselves(fake: FakeCluster) -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    circle: dict[str, Any] = {"a": 1}
    circle["self"] = circle
    crossed: list[Any] = [{"x": loop}]
    with watchdog(), connected(fake) as client:
        sent = len(fake.requests)
        for value in (loop, circle, crossed):
            with pytest.raises(ValueError, match="128"):
                client.put(key(50), {"v": value})
        with pytest.raises((ValueError, TypeError)):
            client.put(key(50), circle)
        assert len(fake.requests) == sent


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 255, 10_000, 1_000_000])
def test_depth_beyond_the_limit_on_read(fake: FakeCluster, depth: int) -> None:
    """A million levels in one bin: an error of that record, also on a small stack, and
    its neighbours in a batch are not touched."""
    fake.put(key(4), {"v": nested_list(depth)})
    with watchdog(), connected(fake) as client:
        for run in (lambda work: work(), on_a_small_stack):
            with pytest.raises((ValueError, aeroloop.AerospikeError)):
                run(lambda: client.get(key(4), LONG).bins)
            rows = client.batch_read(KEYS, None, LONG)
            assert rows.found_count() == 10
            for number, record in enumerate(rows.batch_records):
                assert record.result == 0
                if number != 4:
                    assert record.record is not None
                    assert record.record[2] == {"i": number}
            bad = rows.batch_records[4]
            with pytest.raises((ValueError, aeroloop.AerospikeError)):
                run(lambda bad=bad: bad.record)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\x92\x01",
        b"\x91\xdb\xff\xff\xff\xff",
        b"\x91\x01\x01",
        b"\x91\xc7\xff\x01",
        b"\x82\x01\x02\x01\x03",
        b"\x81\x90\x01",
        b"\x81\x80\x01",
        b"\x81\xcb\x7f\xf8\0\0\0\0\0\0\x01",
        b"\x91\xa1\x03",
        b"\x91\xa2\x63x",
        b"\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
    ],
    ids=lambda data: data.hex()[:24],
)
@pytest.mark.parametrize("particle", [LIST, MAP])
def test_lists_and_maps_of_any_bytes(
    fake: FakeCluster, particle: int, data: bytes
) -> None:
    """A value or an error of that record alone."""
    fake.put(key(4), {"v": Raw(particle, data)})
    with watchdog(), connected(fake) as client:
        with contextlib.suppress(aeroloop.AerospikeError, ValueError):
            _ = client.get(key(4)).bins
        rows = client.batch_read(KEYS)
        for number, record in enumerate(rows.batch_records):
            if number != 4:
                assert record.record is not None
                assert record.record[2] == {"i": number}


# Particle types.

# Bytes that are a good value of the type, where the type has a form.
GOOD: dict[int, tuple[bytes, Any]] = {
    NULL: (b"", None),
    INTEGER: (b"\xff" * 8, -1),
    FLOAT: (b"\x3f\xf8" + bytes(6), 1.5),
    STRING: ("é".encode(), "é"),
    BLOB: (b"\x00\xff", b"\x00\xff"),
    BOOL: (b"\x01", True),
    HLL: (b"\x00\x04\x00" + bytes(24), b"\x00\x04\x00" + bytes(24)),
    GEOJSON: (b"\x00\x00\x01" + bytes(8) + b"{}", "{}"),
    LIST: (b"\x91\x05", [5]),
    MAP: (b"\x81\x05\x06", {5: 6}),
}
LANGUAGE_BLOBS = (7, 8, 9, 10, 11, 12)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 300])
def test_every_particle_type(fake: FakeCluster, size: int) -> None:
    """As bin of a get and in the middle of a batch: a value, bytes, or an error of that
    record. The rest of the batch is as it should be."""
    with watchdog(), connected(fake) as client:
        for particle in range(256):
            data = bytes(range(size % 256)) + bytes(size - size % 256)
            expected: Any = ...
            if particle in GOOD and len(GOOD[particle][0]) == size:
                data, expected = GOOD[particle]
            elif particle in LANGUAGE_BLOBS or particle == BLOB:
                expected = data
            fake.put(key(4), {"v": Raw(particle, data), "w": 1})
            try:
                bins = client.get(key(4)).bins
            except (aeroloop.AerospikeError, ValueError):
                assert expected is ..., particle
            else:
                assert bins["w"] == 1
                if expected is not ...:
                    assert bins["v"] == expected, particle
            rows = client.batch_read(KEYS)
            assert rows.found_count() == 10
            for number, record in enumerate(rows.batch_records):
                if number != 4:
                    assert record.record is not None
                    assert record.record[2] == {"i": number}


@pytest.mark.parametrize("particle", GOOD)
def test_good_values_of_every_type(fake: FakeCluster, particle: int) -> None:
    data, expected = GOOD[particle]
    fake.put(key(4), {"v": Raw(particle, data)})
    with watchdog(), connected(fake) as client:
        assert client.get(key(4)).bins == {"v": expected}
        assert type(client.get(key(4)).bins["v"]) is type(expected)


def test_every_particle_type_inside_a_list(fake: FakeCluster) -> None:
    """Elements carry their type as the first byte of a msgpack string."""
    with watchdog(), connected(fake) as client:
        for particle in range(256):
            data = b"\x92\xa4" + bytes([particle]) + b"abc\x05"
            fake.put(key(4), {"v": Raw(LIST, data)})
            try:
                value = client.get(key(4)).bins["v"]
            except (aeroloop.AerospikeError, ValueError):
                assert particle not in (STRING, BLOB)
                continue
            assert value[1] == 5
            if particle == STRING:
                assert value[0] == "abc"
            elif particle == BLOB or particle in LANGUAGE_BLOBS:
                assert value[0] == b"abc"


def test_nothing_is_unpickled(fake: FakeCluster) -> None:
    """A pickle that would run a command, as the old Python client stored objects."""
    pickle = b"cposix\nsystem\n(S'exit 7'\ntR."
    fake.put(key(4), {"v": Raw(9, pickle)})
    with watchdog(), connected(fake) as client:
        assert client.get(key(4)).bins == {"v": pickle}


def test_text_that_is_no_utf8(fake: FakeCluster) -> None:
    """The server does not check it. An error of that record, or text that shows it."""
    with watchdog(), connected(fake) as client:
        for data in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"a\xf8b", b"\xf4\x90\x80\x80"):
            fake.put(key(4), {"v": Raw(STRING, data)})
            try:
                value = client.get(key(4)).bins["v"]
            except (aeroloop.AerospikeError, ValueError):
                pass
            else:
                assert isinstance(value, str | bytes)
            rows = client.batch_read(KEYS)
            assert rows.found_count() == 10


def test_bin_names_of_any_bytes(fake: FakeCluster) -> None:
    with watchdog(), connected(fake) as client:
        fake.put(key(4), {"": 1, "a\0b": 2, "é" * 7: 3})
        assert client.get(key(4)).bins == {"": 1, "a\0b": 2, "é" * 7: 3}


# Keys of bytes.


def blob_digest(data: bytes) -> bytes:
    """As a blob key of the set: type byte 4."""
    try:
        digest = hashlib.new("ripemd160")
    except ValueError:
        pytest.skip("this OpenSSL has no RIPEMD-160")
    digest.update(b"demo" + b"\x04" + data)
    return digest.digest()


@pytest.mark.parametrize(
    "data", [b"\x83X\xb5\xdd", b"a\0b", b"a\0c", b"", b"\0", b"\xff" * 1000], ids=repr
)
@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_keys_of_bytes_are_never_cut(
    fake: FakeCluster, make: Callable[[bytes], Any], data: bytes
) -> None:
    """Whole, as a blob, in a get as in a batch."""
    with watchdog(), connected(fake) as client:
        with pytest.raises(aeroloop.RecordNotFound):
            client.get(("test", "demo", make(data)))
        assert fake.requests[-1].digest == blob_digest(data)
        client.batch_read([("test", "demo", make(data)), key(1)])
        assert fake.requests[-1].rows[0].digest == blob_digest(data)


# Batches of odd shapes.


def test_the_same_key_many_times(fake: FakeCluster) -> None:
    with watchdog(), connected(fake) as client:
        first, second = KEYS[1], KEYS[2]
        rows = client.batch_read([first, second, first])
        assert rows.to_list() == [{"i": 1}, {"i": 2}, {"i": 1}]
        assert len(rows.batch_records) == 3
        rows = client.batch_read([first] * 1000)
        assert rows.to_list() == [{"i": 1}] * 1000
        assert rows.found_count() == 1000
        array = rows.to_numpy(np.dtype([("i", "i8")])).batch_records
        assert array["i"].tolist() == [1] * 1000
        mixed = client.batch_read([first, key(99), first, key(99)])
        assert mixed.to_list() == [{"i": 1}, None, {"i": 1}, None]
        assert mixed.to_numpy(np.dtype([("i", "i8")])).result_codes.tolist() == [
            0,
            2,
            0,
            2,
        ]


def test_no_keys_at_all(fake: FakeCluster) -> None:
    dtype = np.dtype([("i", "i8")])
    config = {"hosts": fake.hosts}
    with watchdog(), connected(fake) as client:
        sent = len(fake.requests)
        for keys in ([], (), iter(()), (one for one in ())):
            rows = client.batch_read(keys)
            assert len(rows) == 0
            assert rows.to_list() == []
            assert rows.to_dict() == {}
        assert client.batch_read([], []).to_list() == []
        assert client.batch_read([], ["i"]).to_numpy(dtype).batch_records.shape == (0,)

        async def main() -> None:
            async_client = await PatientAsyncClient(config).connect()
            assert (await async_client.batch_read([])).to_list() == []
            await async_client.close()

        asyncio.run(main())
        assert len(fake.requests) == sent


@pytest.mark.parametrize("small_stack", [False, True])
@pytest.mark.slow
def test_very_many_keys(small_stack: bool) -> None:
    """100,000 keys (two million when soaking) of which most are not there."""
    count = 2_000_000 if SOAK else 100_000
    with FakeCluster(nodes=3) as fake, watchdog(1200), connected(fake) as client:
        fake.fill(10, lambda number: {"i": number})
        keys = [key(number) for number in range(count)]

        def work() -> Any:
            policy = {"total_timeout": 900_000, "socket_timeout": 900_000}
            return client.batch_read(keys, None, policy)

        rows = on_a_small_stack(work) if small_stack else work()
        assert rows.found_count() == 10
        assert [record.result for record in rows.batch_records[:12]] == [0] * 10 + [
            2
        ] * 2
        assert len(rows.batch_records) == count
        fake.check()


def test_very_many_keys_of_one_node() -> None:
    with FakeCluster(nodes=3) as fake, watchdog(600), connected(fake) as client:
        fake.fill(10, lambda number: {"i": number})
        keys = [key(7)] * 50_000
        rows = client.batch_read(keys, None, {"total_timeout": 300_000})
        assert rows.found_count() == 50_000
        fake.check()


def test_particles_of_the_fake() -> None:
    """What the tests above rest on."""
    assert particle_of(-1) == Raw(INTEGER, b"\xff" * 8)
    assert particle_of([1]) == Raw(LIST, b"\xdd\0\0\0\x01\x01")
