# SPDX-License-Identifier: Apache-2.0
"""What goes on while Python is busy with something else: cases B09 and B10."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from support.fakeserver import Conn, FakeCluster
from support.fakewire import Request
from support.faults import (
    CONNECT,
    PatientAsyncClient,
    Script,
    watchdog,
)

BINS = {f"b{n}": n for n in range(7)}


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(2000, lambda number: dict(BINS))
        yield cluster
        cluster.check()


HOLD = (
    CONNECT
    + """
config["max_conns_per_node"] = 4

def hold(bits):
    # One call into C that computes and does not let the GIL go.
    started = time.monotonic()
    pow(3, (1 << bits) - 1, (1 << bits) - 1)
    return started, time.monotonic()

bits = 2048
while True:
    started, ended = hold(bits)
    if ended - started > 1.5:
        break
    bits = bits * 5 // 4

async def main():
    client = await PatientAsyncClient(config).connect()
    policy = {"total_timeout": 120000}
    await client.get(key(1), policy)
    gets = [client.get(key(i), policy) for i in range(1000)]
    started, ended = hold(bits)
    records = await asyncio.gather(*gets)
    assert len(records) == 1000
    print(started, ended)
    await client.close()

asyncio.run(main())
"""
)


@pytest.mark.serial
def test_the_workers_go_on_while_python_holds_the_gil(fake: FakeCluster) -> None:
    """1,000 gets over 4 connections: each answer must be read before the next request
    is sent on its connection. All this happens while one call in C holds the GIL, which
    a worker that needed it for anything would have to wait for."""
    times = []

    async def noted(conn: Conn, request: Request) -> None:
        times.append(time.monotonic())
        await conn.answer(request)

    fake.script = noted
    done = Script(HOLD, fake).wait()
    assert (done.code, done.err) == (0, ""), done.err
    started, ended = map(float, done.out.split())
    during = sum(started < at < ended for at in times)
    # A worker that waited for the GIL would leave it at four, one for each connection.
    assert during > 200, f"{during} of 1,000 in {ended - started:.1f} s"


@pytest.mark.serial
@pytest.mark.parametrize("count", [200, 1000])
def test_a_heartbeat_beside_batches(fake: FakeCluster, count: int) -> None:
    """Ten batches in flight whose values nobody looks at: the loop stays free. The
    bound is far above what is measured (a few ms); building the bins of one batch of
    1,000 on the loop would break it."""
    keys = fake.fill(count, lambda number: dict(BINS))
    config = {"hosts": fake.hosts, "tend_interval": 60_000}
    beats = 0
    pauses = []

    async def heartbeat() -> None:
        nonlocal beats
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            pauses.append(time.monotonic() - before)
            beats += 1

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        beat = asyncio.ensure_future(heartbeat())
        policy = {"total_timeout": 60_000}
        rounds = 0
        # On a quick machine five rounds are over before the heart has beaten often.
        while rounds < 5 or beats <= 20:
            rounds += 1
            handles = await asyncio.gather(
                *(client.batch_read(keys, None, policy) for _ in range(10))
            )
            assert [handle.found_count() for handle in handles] == [count] * 10
        beat.cancel()
        await client.close()

    with watchdog():
        asyncio.run(main())
    pauses.sort()
    assert beats > 20
    # The fake server shares this interpreter: its own turns are in these pauses.
    assert pauses[len(pauses) // 2] < 0.25


def test_callbacks_run_while_gets_are_in_flight(fake: FakeCluster) -> None:
    """Completions come many at a time, but not all at the end."""
    config = {"hosts": fake.hosts, "tend_interval": 60_000, "max_conns_per_node": 4}
    order = []

    async def main() -> None:
        client = await PatientAsyncClient(config).connect()
        loop = asyncio.get_running_loop()
        gets = [client.get(("test", "demo", n, digest)) for n, digest in digests]
        for n, get in enumerate(gets):
            get.add_done_callback(lambda _, n=n: order.append(n))

        def tick() -> None:
            order.append("tick")
            if len(order) < 10_000:
                loop.call_later(0.001, tick)

        tick()
        await asyncio.gather(*gets)
        await client.close()

    digests = [(one[2], one[3]) for one in fake.fill(2000, lambda n: dict(BINS))]
    with watchdog():
        asyncio.run(main())
    gets = [n for n, what in enumerate(order) if what != "tick"]
    assert "tick" in order[gets[0] : gets[-1]]
