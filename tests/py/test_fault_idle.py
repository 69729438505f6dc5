# SPDX-License-Identifier: Apache-2.0
"""Connections that the server closed while they were idle, and pools without one: case
B37. What is not answered is never a success."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import aeroloop
from support.fakeserver import Conn, FakeCluster
from support.fakewire import Request, key
from support.faults import (
    PatientAsyncClient,
    connected,
    repeats,
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


def close_idle(fake: FakeCluster) -> None:
    """All of them: one whose answer was just read may count as busy a moment longer."""

    def all_closed() -> bool:
        for node in fake.nodes:
            fake.call(node.close_idle())
        return fake.open_conns == 0

    assert wait_until(all_closed)


@pytest.mark.parametrize("max_retries", [0, 1, 2])
@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.slow
def test_stale_connections_cost_no_error(
    fake: FakeCluster, how: str, max_retries: int
) -> None:
    """Also without retries: nothing was sent that could have been applied."""
    policy = {"max_retries": max_retries}
    node = fake.nodes[0]
    with watchdog(), connected(fake) as client:
        for number in range(repeats(1000)):
            if how == "close":
                close_idle(fake)
            else:
                fake.call(node.reset_all())
            assert client.get(key(number % 10), policy).bins == {"i": number % 10}
            if how == "close":
                close_idle(fake)
            else:
                fake.call(node.reset_all())
            assert client.batch_read(KEYS, None, policy).to_list() == ROWS
            close_idle(fake)
            client.put(key(50), {"i": number}, None, {"max_retries": 0})
            assert client.get(key(50)).bins == {"i": number}


def test_many_stale_connections(fake: FakeCluster) -> None:
    """A pool of 30, all closed: no command may try them one by one and give up."""

    async def late(conn: Conn, request: Request) -> None:
        await asyncio.sleep(0.1)
        await conn.answer(request)

    config = {"hosts": fake.hosts, "tend_interval": 60_000}

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        fake.script = late
        await asyncio.gather(*(client.get(key(n % 10)) for n in range(30)))
        fake.script = None
        assert fake.open_conns >= 30
        await asyncio.to_thread(close_idle, fake)
        policy = {"max_retries": 0}
        records = await asyncio.gather(
            *(client.get(key(n % 10), policy) for n in range(100))
        )
        assert [record.bins["i"] for record in records] == [n % 10 for n in range(100)]
        rows = await client.batch_read(KEYS, None, policy)
        assert rows.to_list() == ROWS
        await client.close()

    with watchdog():
        asyncio.run(main())


def test_sync_pool_of_stale_connections(fake: FakeCluster) -> None:
    async def late(conn: Conn, request: Request) -> None:
        await asyncio.sleep(0.1)
        await conn.answer(request)

    with watchdog(), connected(fake) as client:
        fake.script = late
        threads = [
            threading.Thread(target=client.get, args=(key(n % 10),)) for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        fake.script = None
        close_idle(fake)
        for number in range(30):
            got = client.get(key(number % 10), {"max_retries": 0})
            assert got.bins == {"i": number % 10}


@pytest.mark.parametrize("max_retries", [0, 1, 2])
def test_a_server_that_hangs_up_on_every_request(
    fake: FakeCluster, max_retries: int
) -> None:
    """An error, not nothing; tried as often as was asked for; a write is in doubt."""

    async def hang_up(conn: Conn, request: Request) -> None:
        conn.close()

    with watchdog(), connected(fake) as client:
        client.get(key(1))
        fake.script = hang_up
        policy = {"max_retries": max_retries, "total_timeout": 5000}
        before = len(fake.requests)
        with pytest.raises(aeroloop.ClusterError):
            client.get(key(1), policy)
        tried = len(fake.requests) - before
        assert max_retries + 1 <= tried <= max_retries + 2, "one may have been stale"
        with pytest.raises(aeroloop.ClusterError) as caught:
            client.put(key(1), {"i": 1}, None, {"max_retries": 0})
        assert caught.value.in_doubt is True
        try:
            rows = client.batch_read(KEYS, None, policy)
        except aeroloop.ClusterError:
            pass
        else:
            assert all(record.result != 0 for record in rows.batch_records)
        fake.script = None
        assert client.batch_read(KEYS).to_list() == ROWS


@pytest.mark.parametrize("max_retries", [0, 1, 2])
def test_a_pool_of_none_and_a_node_that_refuses(
    fake: FakeCluster, max_retries: int
) -> None:
    """A single node with no connection open: an answer or an error, in time."""
    node = fake.nodes[0]
    policy = {"max_retries": max_retries, "total_timeout": 5000}
    with watchdog(), connected(fake) as client:
        for _ in range(5):
            fake.call(node.refuse())
            fake.call(node.reset_all())
            with pytest.raises(aeroloop.AerospikeError):
                client.get(key(1), policy)
            try:
                rows = client.batch_read(KEYS, None, policy)
            except aeroloop.AerospikeError:
                pass
            else:
                assert all(record.result != 0 for record in rows.batch_records)
            fake.call(node.start())
            assert wait_until(lambda: answers(client))
            assert client.batch_read(KEYS).to_list() == ROWS


def answers(client: aeroloop.Client) -> bool:
    try:
        return client.get(key(1)).bins == {"i": 1}
    except aeroloop.AerospikeError:
        return False


def test_the_other_replica_answers() -> None:
    """Two nodes with two copies: reads go on when one hangs up on everything."""
    with FakeCluster(nodes=2, replicas=2) as fake, watchdog():
        fake.fill(10, lambda number: {"i": number})

        async def hang_up(conn: Conn, request: Request) -> None:
            conn.close()

        with connected(fake) as client:
            for node in fake.nodes:
                node.script = hang_up
                assert client.batch_read(KEYS).to_list() == ROWS
                for number in range(10):
                    assert client.get(key(number)).bins == {"i": number}
                node.script = None
        fake.check()


def test_idle_connections_are_trimmed(fake: FakeCluster) -> None:
    """What is idle for longer than idle_timeout is closed by the client itself."""

    async def late(conn: Conn, request: Request) -> None:
        await asyncio.sleep(0.05)
        await conn.answer(request)

    config = {"hosts": fake.hosts, "tend_interval": 100, "idle_timeout": 1}

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        fake.script = late
        await asyncio.gather(*(client.get(key(n % 10)) for n in range(30)))
        fake.script = None
        assert fake.open_conns >= 30
        trimmed = await asyncio.to_thread(wait_until, lambda: fake.open_conns <= 4, 60)
        assert trimmed, f"{fake.open_conns} are open"
        assert (await client.get(key(3))).bins == {"i": 3}
        await client.close()

    with watchdog():
        asyncio.run(main())
