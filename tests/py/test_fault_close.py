# SPDX-License-Identifier: Apache-2.0
"""Clients closed at any moment, or never open: cases B08, B49, B50, B56."""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import aeroloop
from support.fakeserver import Blackhole, Conn, FakeCluster
from support.fakewire import Request, key
from support.faults import (
    CONNECT,
    SOAK,
    PatientAsyncClient,
    PatientClient,
    connected,
    fd_count,
    repeats,
    run_clean,
    wait_until,
    watchdog,
)

# What a call on a client that is closed, or is being closed, may raise.
REFUSALS = (aeroloop.AerospikeError,)


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(100, lambda number: {"i": number})
        yield cluster
        cluster.check()


async def soon(conn: Conn, request: Request) -> None:
    await asyncio.sleep(random.uniform(0, 0.01))
    await conn.answer(request)


async def never(conn: Conn, request: Request) -> None:
    await conn.hang()


def config_of(fake: FakeCluster, **more: Any) -> dict[str, Any]:
    return {"hosts": fake.hosts, "tend_interval": 60_000, **more}


def start(work: Callable[[], object], errors: list[BaseException]) -> threading.Thread:
    """A thread whose exception ends in `errors`."""

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def all_closed(fake: FakeCluster) -> bool:
    return wait_until(lambda: fake.open_conns == 0)


@pytest.mark.slow
def test_connect_and_close_leave_nothing_open(fake: FakeCluster) -> None:
    config = config_of(fake)
    with watchdog(600):
        PatientClient(config).connect().close()
        assert all_closed(fake)
        before = fd_count()
        for _ in range(repeats(10_000)):
            client = PatientClient(config).connect()
            client.get(key(1))
            client.close()
        assert all_closed(fake)
        del client
        assert fd_count() <= before + 4


@pytest.mark.slow
def test_close_with_async_gets_in_flight(fake: FakeCluster) -> None:
    """Each get ends once: with its record, or because the client was closed."""
    fake.script = soon

    async def one_life(count: int) -> None:
        client = await PatientAsyncClient(config_of(fake)).connect()
        gets = [client.get(key(n)) for n in range(count)]
        await asyncio.sleep(random.uniform(0, 0.005))
        await client.close()
        for n, result in enumerate(await asyncio.gather(*gets, return_exceptions=True)):
            if isinstance(result, BaseException):
                assert isinstance(result, REFUSALS), repr(result)
            else:
                assert result.bins == {"i": n}

    async def main() -> None:
        for _ in range(repeats(10_000)):
            await one_life(random.randrange(4))
        await one_life(100)

    with watchdog(600):
        asyncio.run(main())
        assert all_closed(fake)


@pytest.mark.slow
def test_close_with_threads_in_flight(fake: FakeCluster) -> None:
    """Nobody answers: only the close ends the gets, and it ends them all."""
    fake.script = never
    policy = {"total_timeout": 0}
    for _ in range(repeats(1000)):
        errors: list[BaseException] = []
        with watchdog():
            client = PatientClient(config_of(fake)).connect()
            get = functools.partial(client.get, key(1), policy)
            asked = len(fake.requests) + 8
            threads = [start(get, errors) for _ in range(8)]
            wait_until(lambda asked=asked: len(fake.requests) >= asked, 0.2)
            client.close()
            for thread in threads:
                thread.join()
        assert len(errors) == 8
        assert all(isinstance(error, REFUSALS) for error in errors)
    assert all_closed(fake)


@pytest.mark.slow
def test_many_threads_close_at_once(fake: FakeCluster) -> None:
    fake.script = soon
    for _ in range(repeats(2000)):
        client = PatientClient(config_of(fake)).connect()
        client.get(key(1))
        errors: list[BaseException] = []
        with watchdog():
            threads = [start(client.close, errors) for _ in range(4)]
            for thread in threads:
                thread.join()
            client.close()
        assert errors == []
        assert not client.is_connected()
    assert all_closed(fake)


def test_close_from_the_loop_of_another_thread(fake: FakeCluster) -> None:
    """An async client belongs to no loop: what one opened, another may close."""

    async def get(client: aeroloop.AsyncClient) -> object:
        return (await client.get(key(3))).bins

    with watchdog():
        client = PatientAsyncClient(config_of(fake))
        asyncio.run(client.connect())
        results: list[object] = []
        threads = [
            threading.Thread(target=lambda: results.append(asyncio.run(get(client))))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [{"i": 3}] * 3
        asyncio.run(client.close())
        assert all_closed(fake)


def test_a_lazy_batch_outlives_its_client(fake: FakeCluster) -> None:
    keys = [key(n) for n in range(100)]
    with watchdog():
        client = PatientClient(config_of(fake)).connect()
        rows = client.batch_read(keys)
        iterator = iter(rows.batch_records)
        first = next(iterator)
        client.close()
        del client
        assert rows.to_list() == [{"i": n} for n in range(100)]
        assert first.record is not None
        assert first.record[2] == {"i": 0}
        rest = [record.record[2]["i"] for record in iterator if record.record]
        assert rest == list(range(1, 100))


# Orders that nobody meant.


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_all_orders_of_calls(fake: FakeCluster, length: int) -> None:
    calls: dict[str, Callable[[aeroloop.Client], object]] = {
        "connect": lambda client: client.connect(),
        "close": lambda client: client.close(),
        "get": lambda client: client.get(key(7)).bins == {"i": 7},
        "batch": lambda client: client.batch_read([key(7)]).to_list() == [{"i": 7}],
    }
    with watchdog():
        for order in itertools.product(calls, repeat=length):
            client = PatientClient(config_of(fake))
            is_open = False
            for name in order:
                legal = {"connect": not is_open, "close": True}.get(name, is_open)
                if legal:
                    assert calls[name](client) is not False, order
                else:
                    with pytest.raises(aeroloop.ClientError):
                        calls[name](client)
                if name in ("connect", "close"):
                    is_open = name == "connect"
                assert client.is_connected() is is_open, order
            client.close()
        assert all_closed(fake)


@pytest.mark.slow
def test_threads_connect_and_close_at_random(fake: FakeCluster) -> None:
    client = PatientClient(config_of(fake))
    over = time.monotonic() + (30 if SOAK else 1)
    unexpected: list[BaseException] = []
    done = [0]

    def work(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < over and not unexpected:
            try:
                match chance.randrange(40):
                    case 0:
                        client.close()
                    case n if n < 10:
                        client.connect()
                    case n if n < 25:
                        assert client.get(key(5)).bins == {"i": 5}
                        done[0] += 1
                    case _:
                        rows = client.batch_read([key(n) for n in range(10)])
                        for record in rows.batch_records:
                            if record.result == 0:
                                assert record.record is not None
            except REFUSALS:
                time.sleep(0.002)  # the server needs this process's GIL too
            except BaseException as error:
                unexpected.append(error)

    with watchdog():
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert unexpected == []
        assert done[0] > 0
        client.close()
        client.connect()
        assert client.get(key(5)).bins == {"i": 5}
        client.close()
        assert all_closed(fake)


# Objects that are not connected.

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "put": (key(1), {"a": 1}),
    "get": (key(1),),
    "select": (key(1), ["a"]),
    "exists": (key(1),),
    "remove": (key(1),),
    "touch": (key(1),),
    "append": (key(1), "a", "x"),
    "prepend": (key(1), "a", "x"),
    "increment": (key(1), "a", 1),
    "remove_bin": (key(1), ["a"]),
    "batch_read": ([key(1), key(2)],),
    "info_all": ("build",),
    "info_random_node": ("build",),
}
# These are no calls to a server.
LOCAL = {"connect", "close", "is_connected", "ping", "get_node_names"}


def public_methods(cls: type) -> list[str]:
    return [
        name
        for name in dir(cls)
        if not name.startswith("_") and callable(getattr(cls, name))
    ]


def made_by_new(cls: type) -> Any:
    return cls.__new__(cls)


def made(cls: type) -> Any:
    return cls({"hosts": [("127.0.0.1", 1)], "timeout": 300})


def failed(cls: type) -> Any:
    client = made(cls)
    with pytest.raises(aeroloop.ClusterError):
        finish(client.connect())
    return client


def finish(result: Any) -> Any:
    """The result of a call of either client."""
    if hasattr(result, "__await__"):

        async def wait() -> Any:
            return await result

        return asyncio.run(wait())
    return result


@pytest.mark.parametrize("make", [made_by_new, made, failed])
@pytest.mark.parametrize("cls", [aeroloop.Client, aeroloop.AsyncClient])
def test_every_method_of_an_unconnected_client(
    cls: type, make: Callable[[type], Any]
) -> None:
    """An ordinary exception, never a crash, with arguments that make sense and with
    none at all."""
    with watchdog():
        client = make(cls)
        methods = public_methods(cls)
        assert set(ARGUMENTS) <= set(methods)
        for name in methods:
            if name == "connect":
                continue
            for arguments in (ARGUMENTS.get(name, ()), ()):

                async def call(
                    name: str = name, arguments: tuple[Any, ...] = arguments
                ) -> Any:
                    result = getattr(client, name)(*arguments)
                    if hasattr(result, "__await__"):
                        return await result
                    return result

                if name in LOCAL:
                    try:
                        asyncio.run(call())
                    except (aeroloop.ClientError, TypeError):
                        assert name != "is_connected"
                else:
                    with pytest.raises((aeroloop.ClientError, TypeError)):
                        asyncio.run(call())


@pytest.mark.parametrize("cls", [aeroloop.Client, aeroloop.AsyncClient])
def test_every_method_of_a_closed_client(fake: FakeCluster, cls: type) -> None:
    with watchdog():
        client = cls(config_of(fake))

        async def life() -> None:
            for call in (client.connect, client.close):
                result = call()
                if hasattr(result, "__await__"):
                    await result

        asyncio.run(life())
        sent = len(fake.requests)
        for name, arguments in ARGUMENTS.items():

            async def call_one(
                name: str = name, arguments: tuple[Any, ...] = arguments
            ) -> None:
                result = getattr(client, name)(*arguments)
                if hasattr(result, "__await__"):
                    await result

            with pytest.raises(aeroloop.ClientError, match="not connected"):
                asyncio.run(call_one())
        assert len(fake.requests) == sent


def test_every_method_while_the_node_goes_away() -> None:
    """The server is stopped in the middle: an error of this package, in finite time."""
    with FakeCluster() as fake, watchdog():
        fake.fill(10, lambda number: {"i": number})
        with connected(fake) as client:
            client.get(key(1))
            fake.call(fake.nodes[0].stop())
            for name, arguments in ARGUMENTS.items():
                try:
                    result = getattr(client, name)(*arguments)
                except aeroloop.AerospikeError:
                    continue
                if name == "batch_read":
                    assert all(row.result != 0 for row in result.batch_records)
                else:
                    assert name == "info_all", name
                    assert all(row.error_code != 0 for row in result)


# Connects that are given up.


def normal_connect_works(fake: FakeCluster, client: Any) -> None:
    """At the latest when the sockets of the connect that was given up are closed."""
    for node in fake.nodes:
        node.info_script = None

    def connects() -> bool:
        try:
            finish(client.connect())
        except aeroloop.ClientError as error:
            if "closing" not in str(error):
                raise
            return False
        return True

    assert wait_until(connects)
    assert finish(client.get(key(2))).bins == {"i": 2}
    finish(client.close())
    assert all_closed(fake)


async def silent_info(conn: Conn, names: list[str]) -> None:
    await conn.hang()


@pytest.mark.parametrize("way", ["close", "aexit", "cancel", "wait_for"])
def test_an_async_connect_is_given_up(fake: FakeCluster, way: str) -> None:
    fake.nodes[0].info_script = silent_info
    client = PatientAsyncClient(config_of(fake, timeout=60_000))

    async def main() -> None:
        connecting = asyncio.ensure_future(client.connect())
        await asyncio.sleep(0.05)
        started = time.monotonic()
        if way == "close":
            await client.close()
        elif way == "aexit":
            with pytest.raises(KeyError):
                async with client:
                    raise KeyError
        elif way == "cancel":
            connecting.cancel()
        else:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(connecting, 0.05)
        with pytest.raises((aeroloop.AerospikeError, asyncio.CancelledError)):
            await connecting
        assert time.monotonic() - started < 30, "not before its time-out"
        assert not client.is_connected()

    with watchdog():
        asyncio.run(main())
        assert all_closed(fake)
        normal_connect_works(fake, client)


def test_a_sync_connect_is_closed_by_another_thread(fake: FakeCluster) -> None:
    fake.nodes[0].info_script = silent_info
    client = PatientClient(config_of(fake, timeout=60_000))
    errors: list[BaseException] = []

    def work() -> None:
        try:
            client.connect()
        except BaseException as error:
            errors.append(error)

    with watchdog():
        thread = threading.Thread(target=work)
        thread.start()
        assert wait_until(lambda: fake.open_conns > 0)
        client.close()
        thread.join(60)
        assert not thread.is_alive()
        assert isinstance(errors[0], aeroloop.AerospikeError)
        assert all_closed(fake)
        normal_connect_works(fake, client)


def test_a_loop_that_stops_while_it_connects(fake: FakeCluster) -> None:
    fake.nodes[0].info_script = silent_info
    client = PatientAsyncClient(config_of(fake, timeout=60_000))

    async def main() -> None:
        connecting = asyncio.ensure_future(client.connect())
        await asyncio.sleep(0.05)
        assert not connecting.done()
        connecting.cancel()

    with watchdog():
        asyncio.run(main())
        assert wait_until(lambda: not client.is_connected())
        assert all_closed(fake)
        normal_connect_works(fake, client)


def test_two_connects_at_once(fake: FakeCluster) -> None:
    """One wins."""

    async def late_info(conn: Conn, names: list[str]) -> None:
        await asyncio.sleep(0.1)
        conn.send(conn.node.info_answer(names))

    fake.nodes[0].info_script = late_info
    client = PatientClient(config_of(fake))
    outcomes: list[object] = []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        try:
            outcomes.append(client.connect())
        except aeroloop.ClientError as error:
            outcomes.append(error)

    with watchdog():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(outcome is client for outcome in outcomes) == 1
        assert sum(isinstance(one, aeroloop.ClientError) for one in outcomes) == 3
        assert client.get(key(1)).bins == {"i": 1}
        client.close()


def test_a_host_that_does_not_complete_the_handshake() -> None:
    with Blackhole() as hole, watchdog():
        client = aeroloop.client({"hosts": [(hole.host, hole.port)], "timeout": 300})
        for _ in range(3):
            with pytest.raises(aeroloop.ClusterError, match="Failed to connect"):
                client.connect()
        assert not client.is_connected()
        client.close()


@pytest.mark.leaks
@pytest.mark.slow
def test_memory_of_lives_is_flat(fake: FakeCluster) -> None:
    rounds = repeats(10_000) * 2
    run_clean(
        CONNECT
        + f"""
from support.faults import fd_count, memory_kb
policy = {{"total_timeout": 30000}}
def life(n):
    client = PatientClient(config).connect()
    client.get(key(n % 100), policy)
    client.batch_read([key(i) for i in range(50)], None, policy).to_dict()
    client.close()
for n in range(50):
    life(n)
before, fds = memory_kb(), fd_count()
for n in range({rounds}):
    life(n)
grown = memory_kb() - before
assert grown < 4096 + {rounds} // 10, f"{{grown}} KB in {rounds} lives"
assert fd_count() <= fds + 4, (fds, fd_count())
""",
        fake,
    )
