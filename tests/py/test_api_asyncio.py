# SPDX-License-Identifier: Apache-2.0
"""Operations: what asyncio does with futures and coroutines, it does with them."""

import asyncio
import collections.abc
import contextlib
import contextvars
import gc
import inspect
import os
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

import aeroloop
from aeroloop import RecordNotFound

KEY = ("test", "asyncio", "k")
NOBODY = ("test", "asyncio", "nobody")


@pytest.fixture(autouse=True)
def stored(client):
    client.put(KEY, {"a": 1})


@pytest.fixture
def run(hosts):
    """run(function): a new loop, a new client, the function with the client."""

    def runner(function):
        async def main():
            async with await aeroloop.AsyncClient({"hosts": hosts}).connect() as client:
                return await function(client)

        return asyncio.run(main())

    return runner


def test_await_and_gather(run):
    async def main(c):
        assert (await c.get(KEY)).bins == {"a": 1}
        first, second, h = await asyncio.gather(
            c.get(KEY), c.exists(NOBODY), c.batch_read([KEY])
        )
        assert first.bins == {"a": 1}
        assert second.meta is None
        assert h.found_count() == 1
        many = await asyncio.gather(*[c.get(KEY) for _ in range(2000)])
        assert all(record.bins == {"a": 1} for record in many)
        mixed = await asyncio.gather(c.get(KEY), c.get(NOBODY), return_exceptions=True)
        assert isinstance(mixed[1], RecordNotFound)
        with pytest.raises(RecordNotFound):
            await asyncio.gather(c.get(KEY), c.get(NOBODY))

    run(main)


def test_takes_the_place_of_futures_and_coroutines(run):
    async def main(c):
        operation = c.get(KEY)
        assert isinstance(operation, collections.abc.Coroutine)
        assert isinstance(operation, collections.abc.Awaitable)
        assert inspect.isawaitable(operation)
        assert asyncio.isfuture(operation)
        assert asyncio.ensure_future(operation) is operation
        assert operation.get_loop() is asyncio.get_running_loop()
        await operation
        assert (await operation).bins == {"a": 1}  # as often as one likes
        assert operation.done()
        assert operation.result() is operation.result()
        assert operation.exception() is None
        assert not operation.cancelled()
        assert not operation.cancel()

        assert (await asyncio.create_task(c.get(KEY))).bins == {"a": 1}
        assert (await asyncio.wait_for(c.get(KEY), 5)).bins == {"a": 1}
        assert (await asyncio.shield(c.get(KEY))).bins == {"a": 1}
        for next_one in asyncio.as_completed([c.get(KEY), c.get(KEY)]):
            assert (await next_one).bins == {"a": 1}
        tasks = {asyncio.create_task(c.get(KEY)) for _ in range(5)}
        done, pending = await asyncio.wait(tasks)
        assert len(done) == 5
        assert not pending
        with pytest.raises(RecordNotFound):
            await asyncio.create_task(c.get(NOBODY))
        with pytest.raises(RecordNotFound):
            await asyncio.wait_for(c.get(NOBODY), 5)
        task = asyncio.create_task(c.get(KEY), name="n")
        assert "get" in repr(task)
        await task

    run(main)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="TaskGroup is new in 3.11")
def test_task_group_and_timeout(run):
    async def main(c):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(c.get(KEY)) for _ in range(10)]
        assert all(task.result().bins == {"a": 1} for task in tasks)
        async with asyncio.timeout(5):
            await c.get(KEY)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await c.get(KEY)
        assert (await c.get(KEY)).bins == {"a": 1}

    run(main)


def test_wait_takes_what_ensure_future_gives(run):
    async def main(c):
        operations = [asyncio.ensure_future(c.get(KEY)) for _ in range(20)]
        done, pending = await asyncio.wait(operations, timeout=10)
        assert done == set(operations)
        assert not pending
        done, pending = await asyncio.wait(
            {asyncio.ensure_future(c.get(KEY)), asyncio.create_task(c.get(NOBODY))}
        )
        assert sum(isinstance(each.exception(), RecordNotFound) for each in done) == 1
        assert not pending

    run(main)


def test_a_task_of_an_operation_can_be_shown(run):
    async def main(c):
        task = asyncio.create_task(c.get(KEY))
        assert "get" in repr(task)
        await asyncio.sleep(0)
        assert "get" in repr(task)
        await task
        assert "get" in repr(task)
        used = c.get(KEY)
        assert asyncio.iscoroutine(used)
        assert asyncio.isfuture(used)
        assert not asyncio.iscoroutine(used)
        assert inspect.isawaitable(used)
        assert isinstance(used, aeroloop._core.Operation)
        await used

    run(main)


def test_methods_say_that_they_are_awaited(hosts):
    from unittest import mock

    # That of asyncio is deprecated in 3.14, that of inspect knows marks from 3.12 on.
    asks = inspect if sys.version_info >= (3, 12) else asyncio
    client = aeroloop.AsyncClient({"hosts": hosts})
    for name in ["get", "put", "batch_read", "connect", "close", "ping"]:
        assert asks.iscoroutinefunction(getattr(client, name))
        assert asks.iscoroutinefunction(getattr(aeroloop.AsyncClient, name))
        assert not asks.iscoroutinefunction(getattr(aeroloop.Client, name))
    assert not asks.iscoroutinefunction(client.is_connected)

    spec = mock.AsyncMock(spec=aeroloop.AsyncClient)
    spec.get.return_value = 5
    assert isinstance(spec.get, mock.AsyncMock)
    assert isinstance(spec.is_connected, mock.MagicMock)

    async def main():
        assert await spec.get(KEY) == 5
        await aeroloop.AsyncClient.connect(client)
        bound = client.get
        assert (await bound(KEY)).bins == {"a": 1}
        assert bound.__name__ == "get"
        assert bound.__self__ is client
        await client.close()

    asyncio.run(main())
    with pytest.raises(TypeError, match="AsyncClient"):
        aeroloop.AsyncClient.get(KEY)
    with pytest.raises(TypeError, match="AsyncClient"):
        aeroloop.AsyncClient.get()


def test_two_waiters_of_one_operation(run):
    async def main(c):
        operation = c.get(KEY)

        async def wait():
            return await operation

        first, second = await asyncio.gather(wait(), wait())
        assert first is second

    run(main)


def test_callbacks(run):
    async def main(c):
        seen = []
        variable = contextvars.ContextVar("variable", default="outside")
        context = contextvars.copy_context()
        context.run(variable.set, "inside")
        operation = c.get(KEY)
        operation.add_done_callback(lambda op: seen.append((op, variable.get())))
        operation.add_done_callback(
            lambda op: seen.append((op, variable.get())), context=context
        )
        never = seen.append
        operation.add_done_callback(never)
        operation.add_done_callback(never)
        assert operation.remove_done_callback(never) == 2
        assert operation.remove_done_callback(never) == 0
        await operation
        await asyncio.sleep(0)
        assert seen == [(operation, "outside"), (operation, "inside")]
        operation.add_done_callback(seen.append)
        assert len(seen) == 2  # not before the loop's next turn
        await asyncio.sleep(0)
        assert seen[2] is operation

    run(main)


def test_an_error_in_a_callback_goes_to_the_loop(run):
    async def main(c):
        reports = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, details: reports.append(details))

        def bad(operation):
            raise ZeroDivisionError

        operation = c.get(KEY)
        operation.add_done_callback(bad)
        assert (await operation).bins == {"a": 1}
        await asyncio.sleep(0)
        assert [type(r["exception"]) for r in reports] == [ZeroDivisionError]

    run(main)


def test_an_error_that_nobody_saw_is_told(run):
    async def main(c):
        reports = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, details: reports.append(details))
        for _ in range(3):
            c.get(NOBODY)
        seen = c.get(NOBODY)
        c.get(KEY)
        c.get("bad key")
        with pytest.raises(RecordNotFound):
            await seen
        await c.get(KEY)
        del seen
        gc.collect()
        await asyncio.sleep(0.05)
        gc.collect()
        kinds = sorted(type(r["exception"]).__name__ for r in reports)
        assert kinds == ["RecordNotFound"] * 3 + ["TypeError"]
        assert all("never retrieved" in r["message"] for r in reports)

    run(main)


def test_cancellation(run):
    async def main(c):
        operation = c.get(KEY)
        assert operation.cancel("why")
        assert operation.cancelled()
        assert operation.done()
        assert not operation.cancel()
        with pytest.raises(asyncio.CancelledError, match="why"):
            operation.result()
        with pytest.raises(asyncio.CancelledError):
            operation.exception()
        with pytest.raises(asyncio.CancelledError):
            await operation

        async def wait():
            await c.get(KEY)

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        never_stepped = asyncio.create_task(c.get(KEY))
        never_stepped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await never_stepped
        group = asyncio.gather(*[c.get(KEY) for _ in range(100)])
        group.cancel()
        with pytest.raises(asyncio.CancelledError):
            await group
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(c.get(KEY), 0)
        for _ in range(200):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(c.get(KEY), 0.0001)
        results = await asyncio.gather(*[c.get(KEY) for _ in range(100)])
        assert all(record.bins == {"a": 1} for record in results)

    run(main)


def test_result_before_the_end(run):
    async def main(c):
        operation = c.get(KEY)
        with pytest.raises(asyncio.InvalidStateError):
            operation.result()
        with pytest.raises(asyncio.InvalidStateError):
            operation.exception()
        await operation

    run(main)


def test_coroutine_methods(run):
    async def main(c):
        operation = c.get(KEY)
        assert operation.send(None) is operation
        with pytest.raises(RuntimeError, match="await wasn't used with future"):
            operation.send(None)
        with pytest.raises(ZeroDivisionError):
            operation.throw(ZeroDivisionError())
        assert operation.cancelled()
        closed = c.get(KEY)
        closed.close()
        assert closed.cancelled()
        closed.close()
        done = c.get(KEY)
        await done
        with pytest.raises(StopIteration) as caught:
            done.send(None)
        assert caught.value.value.bins == {"a": 1}
        with pytest.raises(ValueError, match="x"):
            done.throw(ValueError, "x")
        with pytest.raises(TypeError):
            done.throw(5)
        done.close()
        assert not done.cancelled()

    run(main)


def test_made_without_a_loop(hosts):
    """The arguments wait until a loop runs."""
    client = aeroloop.AsyncClient({"hosts": hosts})
    loop = asyncio.new_event_loop()
    try:
        assert loop.run_until_complete(client.connect()) is client
        operation = client.get(KEY)
        assert "deferred" in repr(operation)
        assert not asyncio.isfuture(operation)
        assert asyncio.iscoroutine(operation)
        assert loop.run_until_complete(operation).bins == {"a": 1}
        with pytest.raises(RecordNotFound):
            loop.run_until_complete(client.get(NOBODY))
        with pytest.raises(TypeError):
            loop.run_until_complete(client.get("bad"))
        with pytest.raises(TypeError):
            client.get()
        unused = client.get(KEY)
        unused.close()
        client.get(KEY)
        with pytest.raises(RuntimeError, match="no running asyncio event loop"):
            client.get(KEY).send(None)
        loop.run_until_complete(client.close())
    finally:
        loop.close()


def test_asyncio_run_takes_an_operation(hosts):
    client = aeroloop.AsyncClient({"hosts": hosts})
    assert asyncio.run(client.connect()) is client
    assert asyncio.run(client.get(KEY)).bins == {"a": 1}
    assert asyncio.run(client.close()) is None


def test_run_coroutine_threadsafe(hosts):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        client = aeroloop.AsyncClient({"hosts": hosts})

        def call(operation):
            return asyncio.run_coroutine_threadsafe(operation, loop).result(10)

        assert call(client.connect()) is client
        assert call(client.get(KEY)).bins == {"a": 1}
        with pytest.raises(RecordNotFound):
            call(client.get(NOBODY))
        call(client.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_one_client_and_many_loops(hosts):
    client = aeroloop.AsyncClient({"hosts": hosts})
    asyncio.run(client.connect())

    async def work():
        records = await asyncio.gather(*[client.get(KEY) for _ in range(200)])
        return all(record.bins == {"a": 1} for record in records)

    for _ in range(3):
        assert asyncio.run(work())
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(asyncio.run(work())))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [True] * 4
    asyncio.run(client.close())


def descriptors(kind=""):
    """Number of open descriptors of that kind."""
    found = 0
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += kind in str(entry.readlink())
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_loop_closed_with_work_in_flight(hosts):
    client = aeroloop.AsyncClient({"hosts": hosts})
    asyncio.run(client.connect())
    operations = []

    async def leave():
        operations.extend(client.get(KEY) for _ in range(100))

    before = descriptors("eventfd")
    for _ in range(50):
        asyncio.run(leave())
        if len(operations) > 500:
            operations.clear()
            gc.collect()
    operations.clear()
    gc.collect()
    time.sleep(0.2)  # what was in flight ends
    assert descriptors("eventfd") <= before

    async def work():
        return (await client.get(KEY)).bins

    assert asyncio.run(work()) == {"a": 1}
    asyncio.run(client.close())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_descriptor_is_left(hosts):
    async def main():
        async with await aeroloop.AsyncClient({"hosts": hosts}).connect() as client:
            await client.get(KEY)

    asyncio.run(main())
    gc.collect()
    before = descriptors()
    for _ in range(20):
        asyncio.run(main())
    gc.collect()
    assert descriptors() <= before

    async def same_loop():
        inside = descriptors()
        for _ in range(10):
            await main()
        await asyncio.sleep(0)  # the waiter ran inside of the callback of the loop
        return inside, descriptors()

    inside, after = asyncio.run(same_loop())
    assert after <= inside + 1  # that of the loop, while any client is connected


def test_operations_are_collected(run):
    async def main(c):
        operation = c.get(KEY)
        reference = weakref.ref(operation)
        cycle = [operation]
        operation.add_done_callback(cycle.append)
        await operation
        del operation, cycle
        await asyncio.sleep(0)  # the waiter ran inside of the callback of the loop
        gc.collect()
        assert reference() is None

    run(main)


def test_the_loop_keeps_turning(run):
    """Answers that are ready at once are finished in slices of half a millisecond."""

    def work(operation):
        end = time.perf_counter() + 0.0003
        while time.perf_counter() < end:
            pass

    async def main(c):
        operations = [c.get(KEY) for _ in range(60)]
        for operation in operations:
            operation.add_done_callback(work)
        time.sleep(0.2)  # all answers arrive meanwhile
        turns = 0
        while not all(operation.done() for operation in operations):
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 20
        assert all(operation.result().bins == {"a": 1} for operation in operations)

    run(main)


def test_debug_mode(hosts):
    async def main():
        async with await aeroloop.AsyncClient({"hosts": hosts}).connect() as client:
            assert (await asyncio.create_task(client.get(KEY))).bins == {"a": 1}
            assert len(await asyncio.gather(client.get(KEY), client.get(KEY))) == 2

    asyncio.run(main(), debug=True)


def test_names_and_repr(run):
    async def main(c):
        operation = c.batch_read([KEY])
        assert operation.__name__ == operation.__qualname__ == "batch_read"
        assert repr(operation) == "<Operation batch_read pending>"
        await operation
        assert repr(operation) == "<Operation batch_read finished>"
        assert aeroloop._core.Operation[int]

    run(main)


def test_uvloop(hosts):
    uvloop = pytest.importorskip("uvloop")

    async def main():
        async with await aeroloop.AsyncClient({"hosts": hosts}).connect() as client:
            records = await asyncio.gather(*[client.get(KEY) for _ in range(500)])
            assert all(record.bins == {"a": 1} for record in records)
            with pytest.raises(RecordNotFound):
                await asyncio.create_task(client.get(NOBODY))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.get(KEY), 0)

    for _ in range(3):
        loop = uvloop.new_event_loop()
        loop.run_until_complete(main())
        loop.close()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="eager tasks are new in 3.12")
def test_eager_tasks(run):
    async def main(c):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)

        async def get():
            return await c.get(KEY)

        assert (await asyncio.create_task(get())).bins == {"a": 1}
        assert (await asyncio.create_task(c.get(KEY))).bins == {"a": 1}

    run(main)


def test_keyboard_interrupt_in_a_waiter(hosts):
    """It leaves the loop, and what was ready behind it is not lost."""
    loop = asyncio.new_event_loop()
    client = aeroloop.AsyncClient({"hosts": hosts})
    loop.run_until_complete(client.connect())

    def interrupt(operation):
        raise KeyboardInterrupt

    async def start():
        operations = [client.get(KEY) for _ in range(50)]
        operations[0].add_done_callback(interrupt)
        await asyncio.sleep(5)

    task = loop.create_task(start())
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(task)
    task.cancel()

    async def more():
        return await asyncio.gather(*[client.get(KEY) for _ in range(50)])

    assert len(loop.run_until_complete(more())) == 50
    loop.run_until_complete(client.close())
    loop.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_inside_of_a_loop(run):
    async def main(c):
        operations = [c.get(KEY) for _ in range(50)]
        pid = os.fork()
        if pid == 0:
            del operations
            gc.collect()
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert len(await asyncio.gather(*operations)) == 50

    run(main)
