# SPDX-License-Identifier: Apache-2.0
"""max_concurrent_operations: waiting, its time-out, and permits that come back."""

import asyncio
import gc
import random
import threading
import time

import pytest

import aeroloop
from aeroloop import BackpressureError, ClientError
from aeroloop.devserver import DevServer
from support.clients import AsyncDriver, SyncDriver

LIMIT = 4
TEXT = "Backpressure timeout on '{}' after 100ms: max_concurrent_operations={} exceeded"


@pytest.fixture(scope="module")
def server():
    with DevServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_faults(server):
    yield
    server.clear_faults()


def config(server, limit=LIMIT, timeout=0):
    return {
        "hosts": server.hosts,
        "max_concurrent_operations": limit,
        "operation_queue_timeout_ms": timeout,
    }


KEY = ("test", "limit", 1)
SLOW = {"total_timeout": 20_000, "socket_timeout": 20_000}
CALLS = {
    "put": (KEY, {"a": 1}),
    "get": (KEY,),
    "select": (KEY, ["a"]),
    "exists": (KEY,),
    "remove": (KEY,),
    "touch": (KEY,),
    "append": (KEY, "s", "x"),
    "prepend": (KEY, "s", "x"),
    "increment": (KEY, "a", 1),
    "remove_bin": (KEY, ["b"]),
    "operate": (KEY, [{"op": aeroloop.OPERATOR_READ}]),
    "operate_ordered": (KEY, [{"op": aeroloop.OPERATOR_READ}]),
    "batch_read": ([KEY],),
    "batch_write": ([(KEY, {"a": 1})],),
    "batch_operate": ([KEY], [{"op": aeroloop.OPERATOR_READ}]),
    "batch_remove": ([KEY],),
}


async def connected(server, **kwargs):
    client = aeroloop.AsyncClient(config(server, **kwargs))
    return await client.connect()


async def all_slots_work(client, server, limit=LIMIT):
    """`limit` slow calls run at once, and one more does not."""
    with server.fault("delay", command="read", ms=300):
        slow = [client.get(KEY, SLOW) for _ in range(limit)]
        await asyncio.sleep(0.1)
        with pytest.raises(BackpressureError):
            await client.get(KEY, SLOW)
        assert not any(call.done() for call in slow)
        await asyncio.gather(*slow)


def test_every_data_call_waits_for_a_slot(server):
    async def main():
        client = await connected(server, limit=1, timeout=100)
        await client.put(KEY, {"a": 1, "s": "x"})
        with server.fault("stall", command="any", namespace="test"):
            holder = client.get(KEY, SLOW)
            await asyncio.sleep(0.1)
            calls = [getattr(client, name)(*args) for name, args in CALLS.items()]
            for name, call in zip(CALLS, calls, strict=True):
                with pytest.raises(BackpressureError) as caught:
                    await call
                error = caught.value
                assert str(error) == TEXT.format(name, 1)
                assert isinstance(error, ClientError)
                assert (error.code, error.in_doubt) == (-1, False)
            # These are not limited.
            assert await client.ping()
            assert await client.info_random_node("build")
            holder.cancel()
        await client.close()

    asyncio.run(main())


def test_sync_calls_of_threads(server):
    driver = SyncDriver(config(server, limit=2, timeout=100))
    driver.put(KEY, {"a": 1, "s": "x"})
    with server.fault("delay", command="read", ms=700):
        threads = [threading.Thread(target=driver.get, args=(KEY, SLOW)) for _ in "ab"]
        for thread in threads:
            thread.start()
        while int(server.faults()[0]["applied"]) < 2:
            time.sleep(0.01)
        with pytest.raises(BackpressureError, match="on 'put' after 100ms"):
            driver.put(KEY, {"a": 2})
        for thread in threads:
            thread.join()
    assert driver.get(KEY).bins == {"a": 1, "s": "x"}
    driver.shutdown()


@pytest.mark.parametrize("make", [SyncDriver, AsyncDriver])
def test_off_by_default_and_for_nothing(server, make):
    driver = make({"hosts": server.hosts, "operation_queue_timeout_ms": 1})
    for _ in range(50):
        driver.put(KEY, {"a": 1})
    driver.shutdown()


def test_waiters_are_served_in_their_order(server):
    async def main():
        client = await connected(server, limit=1)
        await client.put(KEY, {"a": 1, "s": "x"})
        finished = []

        async def call(group):
            # Answers may overtake each other on their way here; generations do not.
            touched = await client.operate(KEY, [{"op": aeroloop.OPERATOR_TOUCH}])
            finished.append((touched.meta.gen, group))

        with server.fault("delay", command="read", ms=1000):
            holder = client.get(KEY, SLOW)
            tasks = []
            for group in range(5):
                tasks += [asyncio.create_task(call(group)) for _ in range(100)]
                await asyncio.sleep(0.1)  # now they are all in the queue
            assert finished == []
            await holder
        await asyncio.gather(*tasks)
        served = [group for _, group in sorted(finished)]
        assert served == [group for group in range(5) for _ in range(100)]
        await client.close()

    asyncio.run(main())


def test_cancellation_storms_leak_no_slot(server):
    async def main():
        client = await connected(server, timeout=100)
        await client.put(KEY, {"a": 1})
        choose = random.Random(7)
        for wait in (0, 0.002, 0.02):
            calls = [
                client.get(KEY) if i % 2 else client.batch_write([(KEY, {"a": 1})])
                for i in range(1000)
            ]
            choose.shuffle(calls)
            await asyncio.sleep(wait)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        await all_slots_work(client, server)
        await client.close()

    asyncio.run(main())


def test_tasks_that_are_cancelled_while_they_wait(server):
    async def main():
        client = await connected(server, timeout=0)
        await client.put(KEY, {"a": 1})
        with server.fault("delay", command="read", ms=200):
            holders = [client.get(KEY, SLOW) for _ in range(LIMIT)]

            async def wait_for_one():
                await client.get(KEY, SLOW)

            tasks = [asyncio.create_task(wait_for_one()) for _ in range(1000)]
            await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(e, asyncio.CancelledError) for e in done)
            await asyncio.gather(*holders)
        await client.close()
        client = await connected(server, timeout=100)
        await all_slots_work(client, server)
        await client.close()

    asyncio.run(main())


def test_errors_leak_no_slot(server):
    async def main():
        client = await connected(server, timeout=100)
        await client.put(KEY, {"a": 1, "s": "x"})
        for _ in range(20):
            calls = [
                client.get(("test", "limit", "nobody")),
                client.increment(KEY, "s", 1),
                client.put(KEY, {"a": 1}, {"gen": 999}),
                client.batch_write([(KEY, {"a": 1}, {"gen": 999})]),
                client.put(("none", "limit", 1), {"a": 1}),
            ]
            await asyncio.gather(*calls, return_exceptions=True)
        for kind in ("reset", "lost_reply"):
            with server.fault(kind, namespace="test", command=["read", "batch"]):
                short = {"total_timeout": 30, "max_retries": 0}
                for _ in range(3):
                    calls = [client.get(KEY, short) for _ in range(LIMIT)]
                    calls.append(client.batch_read([KEY], policy=short))
                    done = await asyncio.gather(*calls, return_exceptions=True)
                    assert all(isinstance(e, aeroloop.AerospikeError) for e in done)
        for _ in range(50):  # bad arguments take none
            with pytest.raises(TypeError):
                await client.put(KEY, {"a": object()})
        await all_slots_work(client, server)
        await client.close()

    asyncio.run(main())


def test_dropped_calls_leak_no_slot(server):
    async def main():
        client = await connected(server, timeout=1000)
        await client.put(KEY, {"a": 1})
        for _ in range(200):
            client.get(KEY)
        gc.collect()
        await client.get(KEY)
        client2 = await connected(server, timeout=100)
        await all_slots_work(client2, server)
        await client2.close()
        await client.close()

    asyncio.run(main())


def test_close_ends_those_that_wait(server):
    async def main():
        client = await connected(server, limit=1)
        with server.fault("stall", command="read", namespace="test"):
            calls = [client.get(KEY, SLOW) for _ in range(100)]
            await asyncio.sleep(0.05)
            await client.close()
            done = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(error, ClientError) for error in done)
        await client.connect()
        await client.put(KEY, {"a": 1})
        await client.close()

    asyncio.run(main())


def test_a_batch_takes_one_slot(server):
    async def main():
        client = await connected(server, limit=1, timeout=1000)
        keys = [("test", "limit", i) for i in range(1000)]
        answer = await client.batch_write([(key, {"a": 1}) for key in keys])
        assert {record.result for record in answer.batch_records} == {0}
        assert (await client.batch_read(keys)).found_count() == 1000
        await client.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "name", ["max_concurrent_operations", "operation_queue_timeout_ms"]
)
def test_bad_numbers(server, name):
    for value, error in [
        (-1, OverflowError),
        (2**32, OverflowError),
        ("1", TypeError),
        (1.0, TypeError),
        (True, TypeError),
        (None, TypeError),
    ]:
        with pytest.raises(error, match=f"'{name}'"):
            aeroloop.client({"hosts": server.hosts, name: value}).connect()
