# SPDX-License-Identifier: Apache-2.0
"""Answers that come late, never, or while the process stood still: cases B05, B42, B43.

No test here expects a call to be fast; what is timed is only that a call ends."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import aeroloop
from support.fakeserver import Conn, FakeCluster
from support.fakewire import Request, digest_of, frame, key, message, trailer
from support.faults import (
    CONNECT,
    SOAK,
    PatientAsyncClient,
    Script,
    connected,
    repeats,
    watchdog,
)


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(1000, lambda number: {"i": number})
        yield cluster
        cluster.check()


async def jittered(conn: Conn, request: Request) -> None:
    await asyncio.sleep(random.uniform(0, 0.1))
    await conn.answer(request)


# A node with a hundred failures in one turn of the tend is left alone until the next.
TURN_S = 0.05
TURNS = {"tend_interval": 50}


def is_breaker(error: BaseException) -> bool:
    return isinstance(error, aeroloop.ClusterError) and "circuit" in str(error)


async def never(conn: Conn, request: Request) -> None:
    await conn.hang()


@pytest.mark.slow
def test_threads_never_get_the_answer_of_another(fake: FakeCluster) -> None:
    fake.script = jittered
    policy = {"total_timeout": 50, "max_retries": 0}
    wrong: list[object] = []
    counts = {"ok": 0, "late": 0}

    def work(start: int, count: int) -> None:
        for number in range(start, start + count):
            try:
                bins = client.get(key(number % 1000), policy).bins
            except aeroloop.AerospikeTimeoutError:
                counts["late"] += 1
            except aeroloop.ClusterError as error:
                if not is_breaker(error):
                    wrong.append(error)
                time.sleep(TURN_S)
            else:
                counts["ok"] += 1
                if bins != {"i": number % 1000}:
                    wrong.append((number, bins))

    each = repeats(20_000) // 4
    with watchdog(600), connected(fake, max_conns_per_node=8, **TURNS) as client:
        threads = [
            threading.Thread(target=work, args=(n * 251, each)) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert counts["ok"] > 0
    assert counts["late"] > 0


@pytest.mark.slow
def test_tasks_never_get_the_answer_of_another(fake: FakeCluster) -> None:
    fake.script = jittered
    policy = {"total_timeout": 50, "max_retries": 0}
    config = {"hosts": fake.hosts, **TURNS}

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        ok = late = 0
        for start in range(0, repeats(20_000), 50):
            numbers = [number % 1000 for number in range(start, start + 50)]
            results = await asyncio.gather(
                *(client.get(key(number), policy) for number in numbers),
                return_exceptions=True,
            )
            for number, result in zip(numbers, results, strict=True):
                if isinstance(result, aeroloop.AerospikeTimeoutError):
                    late += 1
                elif isinstance(result, BaseException) and is_breaker(result):
                    await asyncio.sleep(TURN_S)
                else:
                    assert not isinstance(result, BaseException), result
                    assert result.bins == {"i": number}
                    ok += 1
        assert ok > 0
        assert late > 0
        await client.close()

    with watchdog(600):
        asyncio.run(main())


@pytest.mark.slow
def test_batches_never_get_the_answer_of_another(fake: FakeCluster) -> None:
    fake.script = jittered
    with watchdog(600), connected(fake, **TURNS) as client:
        ok = late = 0
        for start in range(repeats(3000)):
            numbers = [(start * 31 + n) % 1000 for n in range(20)]
            keys = [key(number) for number in numbers]
            try:
                rows = client.batch_read(keys, policy={"total_timeout": 50})
            except aeroloop.AerospikeTimeoutError:
                late += 1
                continue
            except aeroloop.ClusterError as error:
                if not is_breaker(error):
                    raise
                time.sleep(TURN_S)
                continue
            for number, record in zip(numbers, rows.batch_records, strict=True):
                if record.result == 0:
                    assert record.record is not None
                    assert record.record[2] == {"i": number}
                    ok += 1
                else:
                    late += 1
        assert ok > 0
        assert late > 0


@pytest.mark.slow
def test_a_cancelled_get_gives_its_answer_to_nobody(fake: FakeCluster) -> None:
    fake.script = jittered
    policy = {"total_timeout": 20_000}
    config = {"hosts": fake.hosts, **TURNS, "max_conns_per_node": 4}

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        for start in range(repeats(1000)):
            gets = [
                asyncio.ensure_future(client.get(key((start + n) % 1000), policy))
                for n in range(8)
            ]
            await asyncio.sleep(0.01)
            for get in gets[::2]:
                get.cancel()
            results = await asyncio.gather(*gets, return_exceptions=True)
            for n, result in enumerate(results):
                if isinstance(result, asyncio.CancelledError):
                    assert n % 2 == 0
                else:
                    assert not isinstance(result, BaseException), result
                    assert result.bins == {"i": (start + n) % 1000}
        await client.close()

    with watchdog():
        asyncio.run(main())


def test_an_answer_that_trickles_is_whole_or_late(fake: FakeCluster) -> None:
    """Cut at every place, so that each state of the reader meets a pause."""
    fake.put(key(5), {"i": 5, "text": "x" * 40})

    async def trickle(conn: Conn, request: Request) -> None:
        answer = conn.node.cluster.answer_of(request)
        cut = cuts.pop()
        conn.send(answer[:cut])
        await conn.writer.drain()
        await asyncio.sleep(0.01)
        conn.send(answer[cut:])

    fake.script = trickle
    with watchdog(), connected(fake) as client:
        cuts = list(range(1, 30 + 8 + 1 + 8 + 8 + 4 + 40))
        expected = {"i": 5, "text": "x" * 40}
        while cuts:
            assert client.get(key(5), {"max_retries": 0}).bins == expected
        cuts = list(range(1, 150, 3))
        while cuts:
            rows = client.batch_read([key(5), key(5)])
            assert rows.to_list() == [expected, expected]


@pytest.mark.slow
def test_an_answer_that_stops_half_way_is_a_timeout(fake: FakeCluster) -> None:
    """And the rest, which comes later, reaches nobody."""

    async def half(conn: Conn, request: Request) -> None:
        answer = conn.node.cluster.answer_of(request)
        conn.send(answer[: random.randrange(1, len(answer))])
        await conn.writer.drain()
        await asyncio.sleep(0.15)
        conn.send(answer)
        conn.send(answer)

    with watchdog(), connected(fake, max_conns_per_node=2, **TURNS) as client:
        for number in range(repeats(1000)):
            fake.script = half
            with pytest.raises(aeroloop.AerospikeTimeoutError):
                client.get(key(number % 1000), {"total_timeout": 40, "max_retries": 0})
            fake.script = None
            after = (number + 1) % 1000
            assert client.get(key(after)).bins == {"i": after}


# Bytes behind a whole answer, or before anything was asked: the connection is no good.


def test_bytes_behind_an_answer_spoil_the_connection(fake: FakeCluster) -> None:
    forged = frame(message(bins=[], generation=77))

    async def with_more(conn: Conn, request: Request) -> None:
        conn.send(conn.node.cluster.answer_of(request) + forged)
        await conn.writer.drain()

    with watchdog(), connected(fake) as client:
        for number in range(50):
            fake.script = with_more
            client.get(key(number))
            fake.script = None
            assert client.get(key(number + 1)).bins == {"i": number + 1}
            rows = client.batch_read([key(number), key(number + 2)])
            assert rows.to_list() == [{"i": number}, {"i": number + 2}]


def test_a_second_trailer_spoils_the_connection(fake: FakeCluster) -> None:
    async def twice(conn: Conn, request: Request) -> None:
        conn.send(conn.node.cluster.answer_of(request) + trailer())
        await conn.writer.drain()

    with watchdog(), connected(fake) as client:
        fake.script = twice
        keys = [key(number) for number in range(10)]
        for _ in range(20):
            rows = client.batch_read(keys)
            assert rows.to_list() == [{"i": number} for number in range(10)]


# Time-outs of every value.

FINITE = [{}, {"total_timeout": 1}, {"total_timeout": 200}]
REFUSED: list[Any] = [None, 0.5, -1, 2**32, 2**63, 2**200, "5", b"5", [], "x"]


@pytest.mark.parametrize("policy", FINITE)
@pytest.mark.parametrize("kind", ["get", "put", "batch_read", "exists"])
def test_a_silent_server_is_a_timeout(
    fake: FakeCluster, policy: dict[str, int], kind: str
) -> None:
    """Also when nothing is said about time: the default is finite."""
    fake.script = never
    calls = {
        "get": lambda client: client.get(key(1), policy),
        "put": lambda client: client.put(key(1), {"a": 1}, None, policy),
        "exists": lambda client: client.exists(key(1), policy),
        "batch_read": lambda client: client.batch_read([key(1), key(2)], None, policy),
    }
    with watchdog(60), connected(fake, aeroloop.Client) as client:
        if kind == "batch_read":
            try:
                rows = client.batch_read([key(1), key(2)], None, policy)
            except aeroloop.AerospikeTimeoutError:
                return
            assert all(row.result != 0 for row in rows.batch_records)
            return
        with pytest.raises(aeroloop.AerospikeTimeoutError) as caught:
            calls[kind](client)
        assert caught.value.in_doubt is (kind == "put")


@pytest.mark.parametrize("policy", [{"total_timeout": 0}, {"total_timeout": 2**31}])
def test_no_limit_waits_until_the_client_is_closed(
    fake: FakeCluster, policy: dict[str, int]
) -> None:
    fake.script = never
    ended: list[BaseException] = []

    def work() -> None:
        try:
            client.get(key(1), policy)
        except BaseException as error:
            ended.append(error)

    with watchdog(60), connected(fake) as client:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(1.5)
        assert thread.is_alive(), "0 must not be read as 'at once'"
        client.close()
        thread.join()
    assert isinstance(ended[0], aeroloop.AerospikeError)


@pytest.mark.parametrize("value", REFUSED, ids=repr)
@pytest.mark.parametrize("name", ["total_timeout", "socket_timeout", "max_retries"])
def test_values_that_are_no_time_are_refused(
    fake: FakeCluster, name: str, value: object
) -> None:
    with watchdog(60), connected(fake) as client:
        sent = len(fake.requests)
        for call in (
            lambda policy: client.get(key(1), policy),
            lambda policy: client.batch_read([key(1)], None, policy),
            lambda policy: client.put(key(1), {"a": 1}, None, policy),
        ):
            with pytest.raises((TypeError, ValueError, OverflowError)):
                call({name: value})
        assert len(fake.requests) == sent
        assert client.get(key(1)).bins == {"i": 1}


def test_a_socket_timeout_ends_one_attempt(fake: FakeCluster) -> None:
    """The first attempt is not answered, the next one is."""
    asked = []

    async def second_time(conn: Conn, request: Request) -> None:
        asked.append(request)
        if len(asked) == 1:
            await conn.hang()
        await conn.answer(request)

    fake.script = second_time
    with watchdog(60), connected(fake) as client:
        policy = {"socket_timeout": 100, "total_timeout": 20_000, "max_retries": 2}
        assert client.get(key(1), policy).bins == {"i": 1}
    assert len(asked) == 2


# A process that stood still.

STOPPED = (
    CONNECT
    + """
mode = sys.argv[3]
policy = {"total_timeout": 1000, "max_retries": 0}

def outcome(call):
    try:
        return "ok" if call().bins["i"] == 7 else "wrong"
    except aeroloop.AerospikeTimeoutError:
        return "timeout"

async def async_outcome(operation):
    try:
        return "ok" if (await operation).bins["i"] == 7 else "wrong"
    except aeroloop.AerospikeTimeoutError:
        return "timeout"

def sync_main():
    client = PatientClient(config).connect()
    assert outcome(lambda: client.get(key(7))) == "ok"
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.append(outcome(lambda: client.get(key(7), policy)))
        )
        for _ in range(4)
    ]
    if mode == "flight":
        for thread in threads:
            thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    if mode == "flight":
        for thread in threads:
            thread.join()
    results += [outcome(lambda: client.get(key(7), policy)) for _ in range(20)]
    print(" ".join(results))
    client.close()

async def async_main():
    client = await PatientAsyncClient(config).connect()
    assert await async_outcome(client.get(key(7))) == "ok"
    gets = []
    if mode == "flight":
        gets = [async_outcome(client.get(key(7), policy)) for _ in range(4)]
        gets = [asyncio.ensure_future(get) for get in gets]
        await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    results = list(await asyncio.gather(*gets))
    for _ in range(20):
        results.append(await async_outcome(client.get(key(7), policy)))
    print(" ".join(results))
    await client.close()

sync_main() if sys.argv[4] == "sync" else asyncio.run(async_main())
"""
)


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("mode", ["idle", "flight"])
@pytest.mark.slow
def test_a_process_that_was_stopped(fake: FakeCluster, mode: str, way: str) -> None:
    """Stopped for longer than the time-out: what is asked afterwards has its full time,
    and an answer that has come meanwhile counts, or ends in one clean time-out."""

    async def during_the_stop(conn: Conn, request: Request) -> None:
        if stopping:
            await asyncio.sleep(0.5)
        await conn.answer(request)

    stopping = False
    fake.script = during_the_stop
    script = Script(STOPPED, fake, mode, way)
    stopping = mode == "flight"
    assert script.line() == "ready"
    os.kill(script.process.pid, signal.SIGSTOP)
    time.sleep(3 if SOAK else 1.6)
    stopping = False
    os.kill(script.process.pid, signal.SIGCONT)
    assert script.process.stdin is not None
    script.process.stdin.write("\n")
    script.process.stdin.flush()
    done = script.wait()
    assert (done.code, done.err) == (0, "")
    results = done.out.split()
    in_flight, after = results[:-20], results[-20:]
    assert after == ["ok"] * 20
    assert len(in_flight) == (4 if mode == "flight" else 0)
    assert set(in_flight) <= {"ok", "timeout"}


def test_a_loop_that_was_blocked(fake: FakeCluster) -> None:
    """The answers came in time, though the loop could not look at them."""

    async def soon(conn: Conn, request: Request) -> None:
        await asyncio.sleep(0.05)
        await conn.answer(request)

    fake.script = soon
    config = {"hosts": fake.hosts, "tend_interval": 60_000}

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        gets = [client.get(key(n), {"total_timeout": 1000}) for n in range(50)]
        time.sleep(1.6)
        records = await asyncio.gather(*gets)
        assert [record.bins for record in records] == [{"i": n} for n in range(50)]
        await client.close()

    with watchdog(60):
        asyncio.run(main())


def test_digests_of_the_fake_are_told_apart() -> None:
    """What the tests above rest on."""
    digests = {digest_of(number) for number in range(5000)}
    assert len(digests) == 5000
    assert len({digest[:2] for digest in digests}) > 1000
