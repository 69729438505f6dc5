# SPDX-License-Identifier: Apache-2.0
"""Nodes that die and come back under load with very short time-outs: case B07."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator

import pytest

import aeroloop
from support.fakeserver import FakeCluster
from support.fakewire import key
from support.faults import SOAK, fd_count, wait_until, watchdog

COUNT = 200
SECONDS = 60.0 if SOAK else 2.0
SHORT = {"total_timeout": 5, "max_retries": 2}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=4, replicas=2) as cluster:
        cluster.fill(COUNT, lambda number: {"i": number})
        yield cluster
        cluster.check()


class Killer:
    """Stops one node after the other, and starts it again."""

    def __init__(self, fake: FakeCluster) -> None:
        self.fake = fake
        self.over = threading.Event()
        self.rounds = 0
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.over.is_set():
            node = self.fake.nodes[self.rounds % 4]
            if self.rounds % 8 < 4:
                self.fake.call(node.stop())
                self.over.wait(0.1)
                self.fake.call(node.start())
            else:
                self.fake.call(node.reset_all())
            self.over.wait(0.05)
            self.rounds += 1

    def __enter__(self) -> Killer:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def config_of(fake: FakeCluster) -> dict[str, object]:
    return {"hosts": fake.hosts, "tend_interval": 100, "timeout": 500}


def all_right(client: aeroloop.Client) -> bool:
    try:
        rows = client.batch_read([key(n) for n in range(COUNT)])
    except aeroloop.AerospikeError:
        return False
    return rows.to_list() == [{"i": n} for n in range(COUNT)]


@pytest.mark.slow
def test_tasks_while_nodes_die(fake: FakeCluster) -> None:
    outcomes = {"ok": 0, "failed": 0}

    async def load(client: aeroloop.AsyncClient, until: float, seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < until:
            number = chance.randrange(COUNT)
            try:
                if chance.random() < 0.8:
                    record = await client.get(key(number), SHORT)
                    assert record.bins == {"i": number}
                else:
                    numbers = [chance.randrange(COUNT) for _ in range(20)]
                    keys = [key(one) for one in numbers]
                    rows = await client.batch_read(keys, None, SHORT)
                    for one, row in zip(numbers, rows.to_list(), strict=True):
                        assert row in ({"i": one}, None)
                outcomes["ok"] += 1
            except aeroloop.AerospikeError:
                outcomes["failed"] += 1
                await asyncio.sleep(0.001)

    async def main() -> None:
        client = await aeroloop.async_client(config_of(fake)).connect()
        until = time.monotonic() + SECONDS
        await asyncio.gather(*(load(client, until, seed) for seed in range(50)))
        await client.close()

    with watchdog(SECONDS + 120), Killer(fake) as killer:
        asyncio.run(main())
        assert killer.rounds > 1
    assert outcomes["ok"] > 0
    assert wait_until(lambda: fake.open_conns == 0)


@pytest.mark.slow
def test_threads_while_nodes_die(fake: FakeCluster) -> None:
    wrong: list[object] = []
    ok = [0]
    with watchdog(SECONDS + 120):
        client = aeroloop.client(config_of(fake)).connect()
        until = time.monotonic() + SECONDS
        before = fd_count()

        def work(seed: int) -> None:
            chance = random.Random(seed)
            while time.monotonic() < until:
                number = chance.randrange(COUNT)
                try:
                    if client.get(key(number), SHORT).bins != {"i": number}:
                        wrong.append(number)
                    ok[0] += 1
                except aeroloop.AerospikeError:
                    time.sleep(0.001)
                except BaseException as error:
                    wrong.append(error)

        with Killer(fake) as killer:
            threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert killer.rounds > 1
        assert wrong == []
        assert ok[0] > 0
        assert wait_until(lambda: all_right(client)), "all nodes are back"
        assert fd_count() <= before + 600
        client.close()
        assert wait_until(lambda: fake.open_conns == 0)


@pytest.mark.slow
def test_writes_say_whether_they_are_in_doubt(fake: FakeCluster) -> None:
    """A write that failed and is not in doubt was never seen by a server."""
    written: dict[int, int] = {}
    with watchdog(), Killer(fake):
        client = aeroloop.client(config_of(fake)).connect()
        until = time.monotonic() + SECONDS
        number = 1000
        while time.monotonic() < until:
            number += 1
            try:
                client.put(key(number), {"i": number}, None, {"total_timeout": 50})
                written[number] = 1
            except aeroloop.AerospikeError as error:
                written[number] = 2 if error.in_doubt else 0
        client.close()
    seen = {request.number for request in fake.requests if request.is_write}
    assert 1 in written.values()
    for number, how in written.items():
        if how != 2:
            assert (number in seen) is (how == 1), number
