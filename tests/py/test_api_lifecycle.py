# SPDX-License-Identifier: Apache-2.0
"""Connecting and closing in all orders; calls on clients that are not connected."""

import asyncio
import contextlib
import copy
import gc
import inspect
import itertools
import pickle
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref

import pytest

import aeroloop
from aeroloop import AsyncClient, Client, ClientError, ClusterError
from support.clients import AsyncDriver, SyncDriver

KEY = ("test", "lifecycle", "k")
NOT_CONNECTED = "Client is not connected. Call connect\\(\\) first."

#: Plausible arguments of every public method that has some.
ARGUMENTS = {
    "put": (KEY, {"a": 1}),
    "get": (KEY,),
    "select": (KEY, ["a"]),
    "exists": (KEY,),
    "remove": (KEY,),
    "touch": (KEY,),
    "append": (KEY, "a", "x"),
    "prepend": (KEY, "a", "x"),
    "increment": (KEY, "a", 1),
    "remove_bin": (KEY, ["a"]),
    "operate": (KEY, [{"op": aeroloop.OPERATOR_READ, "bin": "a"}]),
    "operate_ordered": (KEY, [{"op": aeroloop.OPERATOR_READ, "bin": "a"}]),
    "batch_read": ([KEY],),
    "batch_write": ([(KEY, {"a": 1})],),
    "batch_write_numpy": ([], "test", "lifecycle", None),
    "batch_operate": ([KEY], [{"op": aeroloop.OPERATOR_READ, "bin": "a"}]),
    "batch_remove": ([KEY],),
    "info_all": ("build",),
    "info_random_node": ("build",),
    "get_node_names": (),
}
HARMLESS = {"ping": False, "is_connected": False, "close": None}


@pytest.fixture(params=[SyncDriver, AsyncDriver], ids=["sync", "async"])
def make(request, hosts):
    """make(): a driver that is not connected."""
    drivers = []

    def maker(config=None):
        driver = request.param(config or {"hosts": hosts}, connect=False)
        drivers.append(driver)
        return driver

    yield maker
    for driver in drivers:
        driver.shutdown()


@pytest.fixture
def dead_port():
    """A port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


def public_methods(cls):
    return {
        name
        for name, member in inspect.getmembers(cls)
        if not name.startswith("_") and callable(member)
    }


def test_every_method_has_arguments_here():
    for cls in [Client, AsyncClient]:
        assert public_methods(cls) == {*ARGUMENTS, *HARMLESS, "connect"}


def check_not_connected(driver):
    for name, args in ARGUMENTS.items():
        with pytest.raises(ClientError, match=NOT_CONNECTED) as caught:
            getattr(driver, name)(*args)
        assert caught.value.result_code == -1
        if args:
            with pytest.raises((TypeError, ClientError)):
                getattr(driver, name)()
    for name, expected in HARMLESS.items():
        assert getattr(driver, name)() is expected


def test_not_connected(make):
    check_not_connected(make())


def test_after_close(make):
    driver = make()
    driver.connect()
    assert driver.get_node_names()
    assert driver.close() is None
    check_not_connected(driver)
    assert driver.close() is None


def test_after_a_failed_connect(make, dead_port):
    driver = make({"hosts": [("127.0.0.1", dead_port)], "timeout": 300})
    for _ in range(2):
        with pytest.raises(ClusterError, match="Failed to connect to host") as caught:
            driver.connect()
        assert str(dead_port) in str(caught.value)
        check_not_connected(driver)


def test_made_without_init(make):
    driver = make()
    driver.client = type(driver.client).__new__(type(driver.client))
    check_not_connected(driver)
    with pytest.raises(ClientError):
        driver.connect()


def test_put_and_increment_check_arguments_first(make):
    driver = make()
    with pytest.raises(TypeError):
        driver.put(KEY, None)
    with pytest.raises(TypeError):
        driver.increment(KEY, "a", "x")
    with pytest.raises(ClientError, match=NOT_CONNECTED):
        driver.get("bad key")


def test_connect_twice(make):
    driver = make()
    driver.connect()
    with pytest.raises(ClientError, match="already connected"):
        driver.connect()
    assert driver.ping()
    driver.close()
    assert driver.connect() is driver.client
    assert driver.ping()


def test_all_orders_of_calls(make):
    driver = make()
    h = None
    for order in itertools.product(["connect", "close", "get", "batch"], repeat=4):
        for call in order:
            connected = driver.is_connected()
            if call == "close":
                driver.close()
            elif call == "connect" and connected:
                with pytest.raises(ClientError):
                    driver.connect()
            elif call == "connect":
                driver.connect()
            elif not connected:
                with pytest.raises(ClientError, match=NOT_CONNECTED):
                    driver.get(KEY)
            elif call == "get":
                assert driver.exists(KEY).key[:3] == KEY
            else:
                h = driver.batch_read([KEY] * 3)
            if h is not None:
                assert h.requested == len(h.to_list()) == 3


def test_credentials(make):
    driver = make()
    with pytest.raises(ClientError, match="Password is required when username"):
        driver.connect("user")
    with pytest.raises(ClientError, match="not available"):
        driver.connect(username="user", password="secret")
    assert driver.connect(None, None) is driver.client


def test_context_managers(hosts):
    with Client({"hosts": hosts}) as client:
        assert not client.is_connected()
        client.connect()
        assert client.ping()
    assert not client.is_connected()
    assert client.__exit__(None, None, None) is False
    with pytest.raises(ZeroDivisionError), Client({"hosts": hosts}).connect() as client:
        raise ZeroDivisionError
    assert not client.is_connected()

    async def main():
        async with AsyncClient({"hosts": hosts}) as client:
            assert not client.is_connected()
            await client.connect()
            assert await client.ping()
        assert not client.is_connected()
        assert await client.__aexit__(None, None, None) is False

    asyncio.run(main())
    assert "__aenter__" in vars(AsyncClient)


def test_factories(hosts):
    assert type(aeroloop.client({"hosts": hosts})) is Client
    assert type(aeroloop.async_client(config={"hosts": hosts})) is AsyncClient
    for factory in [aeroloop.client, aeroloop.async_client, Client, AsyncClient]:
        factory(None)  # not looked at before connect
        with pytest.raises(TypeError):
            factory()
    with pytest.raises(TypeError, match="dict"):
        aeroloop.client(None).connect()


def test_subclasses(hosts):
    class Mine(Client):
        def __init__(self, config):
            super().__init__(config)
            self.calls = 0

        def get(self, *args, **kwargs):
            self.calls += 1
            return super().get(*args, **kwargs)

    class Mixin:
        pass

    class Other(Mine, Mixin):
        __slots__ = ()

    for cls in [Mine, Other]:
        with cls({"hosts": hosts}).connect() as client:
            assert type(client) is cls
            client.put(KEY, {"a": 1})
            assert client.get(KEY).bins == {"a": 1}
            assert client.calls == 1


def test_methods_may_be_replaced(monkeypatch, hosts):
    client = Client({"hosts": hosts})
    client.get = lambda key: "mine"
    assert client.get(1) == "mine"
    monkeypatch.setattr(Client, "get", lambda self, key: "patched")
    assert Client({"hosts": hosts}).get(1) == "patched"
    monkeypatch.undo()
    with pytest.raises(ClientError):
        Client({"hosts": hosts}).get(KEY)


def test_concurrent_connects(hosts):
    client = Client({"hosts": hosts})
    outcomes = []
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        try:
            outcomes.append(client.connect())
        except ClientError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(client) == 1
    assert client.ping()
    client.close()

    async def main():
        async_client = AsyncClient({"hosts": hosts})
        results = await asyncio.gather(
            *[async_client.connect() for _ in range(5)], return_exceptions=True
        )
        assert results.count(async_client) == 1
        assert sum(isinstance(r, ClientError) for r in results) == 4
        await async_client.close()

    asyncio.run(main())


def test_threads_do_all_at_random(hosts):
    client = Client({"hosts": hosts})
    unexpected = []
    end = time.monotonic() + 2

    def work(seed):
        choose = random.Random(seed)
        while time.monotonic() < end:
            try:
                choose.choice(
                    [
                        client.connect,
                        client.close,
                        lambda: client.exists(KEY),
                        lambda: client.batch_read([KEY] * 10).to_list(),
                        client.get_node_names,
                        client.ping,
                    ]
                )()
            except (ClientError, ClusterError):
                pass
            except BaseException as error:
                unexpected.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert not unexpected


@pytest.fixture
def silent():
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()


def test_close_while_connecting(hosts, silent):
    client = Client({"hosts": [silent], "timeout": 20_000})
    errors = []

    def connect():
        try:
            client.connect()
        except aeroloop.AerospikeError as error:
            errors.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    time.sleep(0.1)
    with pytest.raises(ClientError, match="connect"):
        client.connect()
    started = time.monotonic()
    client.close()
    thread.join()
    assert time.monotonic() - started < 2
    assert len(errors) == 1
    client.__init__({"hosts": hosts})
    assert client.connect().ping()
    client.close()


def test_async_connect_is_left(hosts, silent):
    async def leave_by_close(client):
        connecting = client.connect()
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(aeroloop.AerospikeError):
            await connecting

    async def leave_by_cancel(client):
        task = asyncio.create_task(client.connect())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def leave_by_time(client):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.connect(), 0.05)

    async def leave_by_exit(client):
        with contextlib.suppress(ZeroDivisionError):
            async with client:
                connecting = client.connect()
                await asyncio.sleep(0.05)
                raise ZeroDivisionError
        with pytest.raises(aeroloop.AerospikeError):
            await connecting

    async def main(leave):
        client = AsyncClient({"hosts": [silent], "timeout": 20_000})
        started = time.monotonic()
        await leave(client)
        client.__init__({"hosts": hosts})
        while True:
            try:
                await client.connect()
                break
            except ClientError:  # the old connect is ending
                assert time.monotonic() - started < 2
                await asyncio.sleep(0.01)
        assert await client.ping()
        await client.close()
        assert time.monotonic() - started < 3

    for leave in [leave_by_close, leave_by_cancel, leave_by_time, leave_by_exit]:
        asyncio.run(main(leave))


def test_close_ends_what_is_in_flight(hosts):
    async def main():
        client = await AsyncClient({"hosts": hosts}).connect()
        operations = [client.get(KEY) for _ in range(100)]
        await client.close()
        done = await asyncio.gather(*operations, return_exceptions=True)
        assert all(
            isinstance(r, (aeroloop.Record, aeroloop.RecordNotFound, ClientError))
            for r in done
        )

    asyncio.run(main())


def test_unclosed_clients_are_collected(hosts):
    client = Client({"hosts": hosts}).connect()
    client.myself = client
    reference = weakref.ref(client)
    del client
    gc.collect()
    assert reference() is None

    async def main():
        async_client = await AsyncClient({"hosts": hosts}).connect()
        await async_client.exists(KEY)

    asyncio.run(main())
    gc.collect()


def test_clients_cannot_be_pickled_or_copied(client):
    for obj in [client, AsyncClient({}), client.batch_read([KEY])]:
        with pytest.raises(TypeError):
            pickle.dumps(obj)
        with pytest.raises(TypeError):
            copy.deepcopy(obj)
        assert weakref.ref(obj)() is obj
        assert hash(obj) == hash(obj)


def run_script(script, hosts, *args, timeout=20):
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", f"hosts = {hosts!r}\n{script}", *args],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return result, time.monotonic() - started


EXITS = {
    "import": ("import aeroloop, aeroloop._core", 0),
    "global": ("import aeroloop\nc = aeroloop.client({'hosts': hosts}).connect()", 0),
    "cycle": (
        "import aeroloop\nc = aeroloop.client({'hosts': hosts}).connect()\nc.me = c",
        0,
    ),
    "code": (
        "import aeroloop, sys\n"
        "c = aeroloop.client({'hosts': hosts}).connect()\nsys.exit(3)",
        3,
    ),
    "daemon": (
        "import aeroloop, threading, time\n"
        "c = aeroloop.client({'hosts': hosts}).connect()\n"
        "def work():\n"
        "    while True:\n"
        "        c.exists(('test', 'lifecycle', 'k'))\n"
        "for _ in range(4):\n"
        "    threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.2)",
        0,
    ),
    "async": (
        "import aeroloop, asyncio\n"
        "async def main():\n"
        "    global c, ops\n"
        "    c = await aeroloop.AsyncClient({'hosts': hosts}).connect()\n"
        "    ops = [c.exists(('test', 'lifecycle', i)) for i in range(1000)]\n"
        "asyncio.run(main())",
        0,
    ),
    "open loop": (
        "import aeroloop, asyncio\n"
        "c = aeroloop.AsyncClient({'hosts': hosts})\n"
        "loop = asyncio.new_event_loop()\n"
        "loop.run_until_complete(c.connect())\n"
        "async def main():\n"
        "    return [c.get(('test', 'lifecycle', 'no')) for i in range(1000)]\n"
        "ops = loop.run_until_complete(main())\n"
        "import os; os._exit(5)",
        5,
    ),
}


@pytest.mark.parametrize("name", EXITS)
def test_a_process_ends(name, hosts):
    script, code = EXITS[name]
    result, seconds = run_script(script, hosts)
    assert (result.returncode, result.stderr) == (code, "")
    assert seconds < 5  # starting Python and reading modules is most of it


def test_an_interrupt_ends_a_wait(silent):
    script = """
import aeroloop, os, signal, threading, time
c = aeroloop.client({"hosts": hosts, "timeout": 30_000})
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
started = time.monotonic()
try:
    c.connect()
except KeyboardInterrupt:
    print(time.monotonic() - started < 1.3)
"""
    result, _ = run_script(script, [tuple(silent)])
    assert result.stdout == "True\n", result.stderr


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_a_handler_that_raises(client):
    class Tick(Exception):
        pass

    def handler(number, frame):
        raise Tick

    client.put(KEY, {"a": 1})
    old = signal.signal(signal.SIGALRM, handler)
    ticks = 0
    choose = random.Random(5)
    try:
        for _ in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, choose.uniform(0.0005, 0.005))
                while True:
                    client.get(KEY)
                    client.batch_read([KEY] * 50)
            except Tick:
                ticks += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert ticks == 200
    assert client.get(KEY).bins == {"a": 1}
    assert client.batch_read([KEY] * 50).found_count() == 50
