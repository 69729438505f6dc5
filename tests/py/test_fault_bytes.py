# SPDX-License-Identifier: Apache-2.0
"""Answers that break the protocol, or are only very large: case B78."""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

import aeroloop
from support.fakeserver import Conn, FakeCluster
from support.fakewire import (
    INTEGER,
    PROTO_COMPRESSED,
    PROTO_INFO,
    Raw,
    Request,
    frame,
    key,
    message,
    op,
    trailer,
)
from support.faults import (
    SOAK,
    PatientClient,
    connected,
    memory_kb,
    run_clean,
    wait_until,
    watchdog,
)

KEYS = [key(number) for number in range(10)]
ROWS = [{"i": number} for number in range(10)]


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(10, lambda number: {"i": number})
        yield cluster
        cluster.check()


def saying(answer: bytes) -> Callable[[Conn, Request], Awaitable[None]]:
    """A script that always says the same, and then keeps the connection open."""

    async def script(conn: Conn, request: Request) -> None:
        conn.send(answer)
        await conn.writer.drain()

    return script


def op_of_size(size: int, name_len: int = 1) -> bytes:
    """One op whose size and name length are what is given, with a value of 8 bytes."""
    return struct.pack(">IBBBB", size & 0xFFFFFFFF, 1, INTEGER, 0, name_len) + (
        b"i" + bytes(8)
    )


WHOLE = message(bins=[op("i", 1)])

# Frames that no server sends.
BROKEN_FRAMES = {
    "length 2**47": frame(WHOLE, length=2**47),
    "length 2**48-1": frame(WHOLE, length=2**48 - 1),
    "length over the limit": frame(WHOLE, length=2**27 + 1),
    "length 0": frame(b"", length=0),
    "length 7": frame(WHOLE[:7]),
    "length 21": frame(WHOLE[:21]),
    "type 0": frame(WHOLE, kind=0),
    "type 9": frame(WHOLE, kind=9),
    "type info": frame(WHOLE, kind=PROTO_INFO),
    "version 1": frame(WHOLE, version=1),
    "version 255": frame(WHOLE, version=255),
    "zeros": bytes(64),
    "ones": b"\xff" * 64,
    "http": b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    "compressed, size lies": frame(
        struct.pack(">Q", 2**40) + b"x\x9c" + bytes(30), kind=PROTO_COMPRESSED
    ),
    "compressed, empty": frame(b"", kind=PROTO_COMPRESSED),
}

# Whole frames with a message that does not hold together.
BROKEN_MESSAGES = {
    "more ops than bytes": message(bins=[op("i", 1)], n_ops=2),
    "65535 ops": message(bins=[op("i", 1)], n_ops=65535),
    "more fields than bytes": message(bins=[op("i", 1)], n_fields=3),
    "65535 fields": message(n_fields=65535),
    "field of size 0": message(n_fields=1) + struct.pack(">IB", 0, 1),
    "field of 4 GB": message(n_fields=1) + struct.pack(">IB", 2**32 - 1, 1),
    "op of size 0": message(n_ops=1) + op_of_size(0),
    "op of size 3": message(n_ops=1) + op_of_size(3),
    "op without room for its name": message(n_ops=1) + op_of_size(4),
    "op one byte too long": message(n_ops=1) + op_of_size(14),
    "op of 4 GB": message(n_ops=1) + op_of_size(2**32 - 1),
    "op of 2 GB": message(n_ops=1) + op_of_size(2**31),
    "name longer than the op": message(n_ops=1) + op_of_size(13, 255),
    "half an op header": message(n_ops=1) + b"\0\0\0",
}

# Batch answers: rows that were not asked for, or lie about where they belong.
BROKEN_BATCHES = {
    "index beyond": frame(message(bins=[op("i", 1)], index=10)) + trailer(),
    "index 2**32-1": frame(message(bins=[op("i", 1)], index=2**32 - 1)) + trailer(),
    "half a message behind": frame(WHOLE + WHOLE[:13]) + trailer(),
    "one byte behind": frame(WHOLE + b"\x16") + trailer(),
}


@dataclass(frozen=True)
class Case:
    name: str
    answer: bytes


SINGLE = [
    *(Case(name, data) for name, data in BROKEN_FRAMES.items()),
    *(Case(name, frame(data)) for name, data in BROKEN_MESSAGES.items()),
]
BATCH = [
    *SINGLE,
    *(Case(name, data) for name, data in BROKEN_BATCHES.items()),
    *(
        Case(f"{name}, behind a good row", frame(WHOLE) + frame(data))
        for name, data in BROKEN_MESSAGES.items()
    ),
]
# Short enough that a client that waits for more bytes ends soon.
POLICY = {"total_timeout": 700, "max_retries": 1}


def works_again(fake: FakeCluster, client: aeroloop.Client) -> None:
    fake.script = None
    assert client.get(key(3)).bins == {"i": 3}
    assert client.batch_read(KEYS).to_list() == ROWS


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_a_broken_answer_to_a_get(fake: FakeCluster, case: Case) -> None:
    with watchdog(), connected(fake) as client:
        before = memory_kb()
        fake.script = saying(case.answer)
        with pytest.raises((aeroloop.ClusterError, aeroloop.AerospikeTimeoutError)):
            client.get(key(1), POLICY)
        assert memory_kb() - before < 100_000, "nothing is sized by what a header says"
        works_again(fake, client)


# Fields and ops are nothing that a put would look into.
FRAMES = [case for case in SINGLE if case.name in BROKEN_FRAMES]


@pytest.mark.parametrize("case", FRAMES, ids=lambda case: case.name)
def test_a_broken_answer_to_a_put(fake: FakeCluster, case: Case) -> None:
    """It may have been applied: nobody knows."""
    with watchdog(), connected(fake) as client:
        fake.script = saying(case.answer)
        with pytest.raises(
            (aeroloop.ClusterError, aeroloop.AerospikeTimeoutError)
        ) as caught:
            client.put(key(1), {"i": 1}, None, {"total_timeout": 20_000})
        assert caught.value.in_doubt is True
        works_again(fake, client)


@pytest.mark.parametrize("case", BATCH, ids=lambda case: case.name)
def test_a_broken_answer_to_a_batch(fake: FakeCluster, case: Case) -> None:
    """An error of the whole, or rows without an answer; never somebody else's bins."""
    with watchdog(), connected(fake) as client:
        before = memory_kb()
        fake.script = saying(case.answer)
        try:
            rows = client.batch_read(KEYS, None, POLICY)
        except (aeroloop.ClusterError, aeroloop.AerospikeTimeoutError):
            pass
        else:
            for number, record in enumerate(rows.batch_records):
                assert record.result != 0 or number == 0
        assert memory_kb() - before < 100_000
        works_again(fake, client)


def test_rows_that_come_twice(fake: FakeCluster) -> None:
    """The others keep their places, and the one that comes twice is one of the two."""

    async def twice(conn: Conn, request: Request) -> None:
        rows = [
            message(bins=[op("i", number)], index=row.index)
            for number, row in enumerate(request.rows)
        ]
        again = message(bins=[op("i", 77)], index=request.rows[4].index)
        conn.send(frame(b"".join(rows) + again) + trailer())
        await conn.writer.drain()

    with watchdog(), connected(fake) as client:
        fake.script = twice
        try:
            found = client.batch_read(KEYS, None, POLICY).to_list()
        except aeroloop.ClusterError:
            pass
        else:
            assert found[4] in ({"i": 4}, {"i": 77})
            assert found[:4] + found[5:] == ROWS[:4] + ROWS[5:]
        works_again(fake, client)


@pytest.mark.parametrize("answered", [0, 1, 9])
@pytest.mark.parametrize("result", [0, 4, 8, 150, 152, 255])
def test_a_trailer_before_all_rows(
    fake: FakeCluster, answered: int, result: int
) -> None:
    """What was not answered is no success, whatever the trailer says."""

    async def short(conn: Conn, request: Request) -> None:
        rows = [
            message(bins=[op("i", row.index)], index=row.index)
            for row in request.rows[:answered]
        ]
        conn.send((frame(b"".join(rows)) if rows else b"") + trailer(result))
        await conn.writer.drain()

    with watchdog(), connected(fake) as client:
        fake.script = short
        try:
            rows = client.batch_read(KEYS, None, {"max_retries": 0})
        except aeroloop.AerospikeError:
            pass
        else:
            results = [record.result for record in rows.batch_records]
            assert results[:answered] == [0] * answered
            assert 0 not in results[answered:]
            assert rows.found_count() == answered
        works_again(fake, client)


def test_every_result_code(fake: FakeCluster) -> None:
    """Codes that the client knows and those that it does not, of a record and a row."""
    with watchdog(), connected(fake) as client:
        for code in range(1, 256):
            fake.script = saying(frame(message(code, generation=0)))
            with pytest.raises(aeroloop.AerospikeError) as caught:
                client.get(key(1), {"max_retries": 0})
            assert caught.value.result_code == code
            rows_with_code = [
                message(code if index == 5 else 0, index=index) for index in range(10)
            ]
            fake.script = saying(frame(b"".join(rows_with_code)) + trailer())
            rows = client.batch_read(KEYS, None, {"max_retries": 0})
            assert [record.result for record in rows.batch_records] == [
                code if index == 5 else 0 for index in range(10)
            ]
        works_again(fake, client)


@pytest.mark.slow
def test_bits_that_flip(fake: FakeCluster) -> None:
    """Any answer with one bit changed: right bins, wrong bins or an error; never a
    crash, a hang, or a client that does not work any more."""
    chance = random.Random(7)
    fake.put(key(3), {"i": 3})
    bins = {"i": 3, "s": "text", "f": 1.5, "l": [1, [2, {"a": None}], b"x"], "b": True}

    async def flipped(conn: Conn, request: Request) -> None:
        fake.put(key(1), bins)
        answer = bytearray(conn.node.cluster.answer_of(request))
        bit = chance.randrange(len(answer) * 8)
        answer[bit >> 3] ^= 1 << (bit & 7)
        conn.send(bytes(answer))
        conn.close()  # so that a longer length is not waited for

    fake.put(key(1), bins)
    policy = {"total_timeout": 2000, "max_retries": 0}
    with watchdog(1200), connected(fake, tend_interval=50) as client:
        for _ in range(5000 if SOAK else 300):
            fake.script = flipped
            for call in (
                lambda: client.get(key(1), policy).bins,
                lambda: client.batch_read([key(1), key(1)], None, policy).to_dict(),
            ):
                with contextlib.suppress(aeroloop.AerospikeError, ValueError):
                    call()
            fake.script = None
            # The breaker may keep it from the node for a turn of the tend.
            assert wait_until(lambda: gets_three(client))


# Large, but as it should be.


def test_a_large_record(fake: FakeCluster) -> None:
    for size in (0, 1, 65_535, 65_536, 1 << 20, 8 << 20):
        fake.put(key(1), {"blob": bytes(size), "text": "é" * (size // 2)})
        with watchdog(), connected(fake) as client:
            policy = {"total_timeout": 60_000}
            bins = client.get(key(1), policy).bins
            assert bins == {"blob": bytes(size), "text": "é" * (size // 2)}
            rows = client.batch_read([key(1), key(2)], None, policy)
            assert rows.to_list() == [bins, {"i": 2}]


def test_an_answer_of_64_megabytes(fake: FakeCluster) -> None:
    size = 8 << 20
    fake.put(key(1), {"blob": bytes(size)})
    with watchdog(), connected(fake) as client:
        rows = client.batch_read([key(1)] * 8, None, {"total_timeout": 60_000})
        assert [len(row["blob"]) for row in rows.to_list() if row] == [size] * 8


def test_one_frame_of_64_megabytes(fake: FakeCluster) -> None:
    """A frame may hold up to 128 MiB."""
    size = 64 << 20
    fake.put(key(1), {"blob": bytes(size)})
    with watchdog(), connected(fake) as client:
        record = client.get(key(1), {"total_timeout": 60_000})
        assert len(record.bins["blob"]) == size


@pytest.mark.leaks
def test_memory_after_large_answers() -> None:
    """What a large answer took is given back."""
    with FakeCluster() as fake:
        fake.put(key(1), {"blob": bytes(8 << 20)})
        run_clean(
            """
import sys
import aeroloop
from support.fakewire import key
from support.faults import PatientClient, memory_kb
config = {"hosts": [(sys.argv[1], int(sys.argv[2]))]}
client = PatientClient(config).connect()
policy = {"total_timeout": 60000}
before = memory_kb()
for _ in range(10):
    rows = client.batch_read([key(1)] * 4, None, policy)
    assert rows.found_count() == 4
    del rows
grown = memory_kb() - before
assert grown < 80_000, f"{grown} KB are kept of answers of 32 MB"
client.close()
""",
            fake,
        )


# Info answers.


def broken_info() -> dict[str, bytes]:
    return {
        "nothing": frame(b"", PROTO_INFO),
        "no tabs": frame(b"node\nbuild\npartition-generation\n", PROTO_INFO),
        "binary": frame(bytes(range(256)) * 4, PROTO_INFO),
        "1 MB without a newline": frame(b"x" * (1 << 20), PROTO_INFO),
        "1 GB announced": frame(b"node\t", PROTO_INFO, length=1 << 30),
        "2**47 announced": frame(b"node\t", PROTO_INFO, length=1 << 47),
        "a message": frame(WHOLE),
        "not authenticated": frame(b"ERROR:80:not authenticated\n", PROTO_INFO),
        "type 9": frame(b"node\tBB9\n", 9),
    }


@pytest.mark.parametrize("name", broken_info())
def test_a_seed_that_talks_nonsense(fake: FakeCluster, name: str) -> None:
    answer = broken_info()[name]

    async def nonsense(conn: Conn, names: list[str]) -> None:
        conn.send(answer)
        await conn.writer.drain()

    with watchdog():
        before = memory_kb()
        fake.nodes[0].info_script = nonsense
        client = PatientClient({"hosts": fake.hosts, "timeout": 700})
        with pytest.raises(aeroloop.ClusterError):
            client.connect()
        assert memory_kb() - before < 100_000
        fake.nodes[0].info_script = None
        client.connect()
        assert client.get(key(3)).bins == {"i": 3}
        client.close()


BAD_VALUES: list[dict[str, str | None]] = [
    {"node": ""},
    {"node": None},
    {"node": "X" * 300},
    {"node": "ERROR:4:unrecognized command"},
    {"partition-generation": "-1"},
    {"partition-generation": "many"},
    {"replicas": ""},
    {"replicas": "test"},
    {"replicas": "test:0"},
    {"replicas": "test:0,1"},
    {"replicas": "test:0,1,"},
    {"replicas": "test:0,1,AAAA"},
    {"replicas": "test:0,1," + "!" * 684},
    {"replicas": "test:0,4294967296," + "/" * 682 + "8="},
    {"replicas": "x" * 5000 + ":0,1," + "/" * 682 + "8="},
    {"replicas": None},
]
HARMLESS: list[dict[str, str | None]] = [
    {"peers-clear-std": ""},
    {"peers-clear-std": "x"},
    {"peers-clear-std": "1,3000,["},
    {"peers-clear-std": "1,3000,[[BB9,,[127.0.0.1:1]]]"},
    {"peers-clear-std": "1,3000," + "[" * 10_000},
    {"peers-clear-std": "1,99999,[]"},
    {"peers-clear-std": "1,3000,[[BB9,,[[::1:1]]]"},
    {"service-clear-std": "nonsense"},
    {"cluster-name": ""},
    {"features": None},
    {"build": "8"},
    {"build": "999.999.999.999"},
]


@pytest.mark.parametrize("values", BAD_VALUES, ids=lambda v: str(v)[:40])
def test_a_node_that_cannot_be_used(
    fake: FakeCluster, values: dict[str, str | None]
) -> None:
    """Without a name or a map there is nothing to send to: an error, in time; and the
    node is taken when it has come to its senses."""
    with watchdog():
        fake.nodes[0].info = dict(values)
        client = PatientClient({"hosts": fake.hosts, "timeout": 700})
        try:
            client.connect()
        except aeroloop.ClusterError:
            pass
        else:  # connected, but nobody owns the partition
            with pytest.raises(aeroloop.AerospikeError):
                client.get(key(1), {"total_timeout": 500})
            client.close()
        fake.nodes[0].info = {}
        client.connect()
        assert client.get(key(3)).bins == {"i": 3}
        client.close()


@pytest.mark.parametrize("values", HARMLESS, ids=lambda v: str(v)[:40])
def test_oddities_that_stop_nobody(
    fake: FakeCluster, values: dict[str, str | None]
) -> None:
    with watchdog():
        fake.nodes[0].info = dict(values)
        client = PatientClient({"hosts": fake.hosts, "timeout": 5000})
        try:
            client.connect()
        except aeroloop.ClusterError:
            fake.nodes[0].info = {}
            client.connect()
        assert client.get(key(3)).bins == {"i": 3}
        client.close()


def test_a_node_that_goes_mad_for_a_while(fake: FakeCluster) -> None:
    """The tend gets nonsense. A client may give the node up for that, but it comes back
    by itself."""
    with watchdog(), connected(fake, tend_interval=50) as client:
        node = fake.nodes[0]
        for name in ("1 MB without a newline", "binary", "2**47 announced", "nothing"):
            answer = broken_info()[name]

            async def nonsense(
                conn: Conn, names: list[str], answer: bytes = answer
            ) -> None:
                conn.send(answer)
                await conn.writer.drain()

            seen = len(node.info_requests)
            node.info_script = nonsense
            while len(node.info_requests) < seen + 8:
                # Without a node it waits for one, as long as it may.
                with contextlib.suppress(aeroloop.AerospikeError):
                    bins = client.get(key(3), {"total_timeout": 200}).bins
                    assert bins == {"i": 3}
            node.info_script = None
            assert wait_until(lambda: gets_three(client)), name


def gets_three(client: aeroloop.Client) -> bool:
    try:
        return client.get(key(3)).bins == {"i": 3}
    except aeroloop.AerospikeError:
        return False


def test_a_value_of_the_wrong_size(fake: FakeCluster) -> None:
    """An integer of 7 bytes is an error of that record alone."""
    with watchdog(), connected(fake) as client:
        fake.put(key(4), {"i": Raw(INTEGER, bytes(7))})
        with pytest.raises(aeroloop.AerospikeError):
            _ = client.get(key(4)).bins
        rows = client.batch_read(KEYS)
        assert rows.found_count() == 10
        for number, record in enumerate(rows.batch_records):
            if number != 4:
                assert record.record is not None
                assert record.record[2] == {"i": number}
