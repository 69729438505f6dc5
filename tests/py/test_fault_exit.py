# SPDX-License-Identifier: Apache-2.0
"""Processes that end, with or without work in flight: cases B04 and B55."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from support.fakeserver import Blackhole, Conn, FakeCluster
from support.fakewire import Request
from support.faults import CONNECT, SOAK, run, run_clean

# Generous, for a machine that does other work: an exit that waits for something waits
# for a time-out of seconds, or for ever.
EXIT_S = 20.0
RUNS = 40 if SOAK else 2


async def after_a_while(conn: Conn, request: Request) -> None:
    await asyncio.sleep(random.uniform(0.005, 0.05))
    await conn.answer(request)


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(1000, lambda number: {"i": number})
        cluster.script = after_a_while
        yield cluster
        cluster.check()


ASYNC_GETS = (
    CONNECT
    + """
async def main():
    global client, gets
    client = await PatientAsyncClient(config).connect()
    gets = [client.get(key(i), {"total_timeout": 30000}) for i in range(1000)]
    await asyncio.sleep(0.03)
"""
)

ENDINGS = {
    "return": ("", 0),
    "exit": ("sys.exit(3)", 3),
    "uncaught": ("raise KeyError('the script ends here')", 1),
    "_exit": ("os._exit(0)", 0),
}


@pytest.mark.parametrize("name", ENDINGS)
@pytest.mark.slow
def test_exit_with_async_gets_in_flight(fake: FakeCluster, name: str) -> None:
    ending, code = ENDINGS[name]
    for _ in range(RUNS):
        done = run(ASYNC_GETS + f"asyncio.run(main())\n{ending}\n", fake)
        assert done.code == code, done.err
        if name == "uncaught":
            assert done.err.startswith("Traceback"), done.err
            assert done.err.rstrip().endswith("KeyError: 'the script ends here'")
            assert done.err.count("\n") <= 5, done.err
        else:
            assert done.err == ""
        assert done.seconds < EXIT_S


@pytest.mark.slow
def test_exit_inside_a_running_loop(fake: FakeCluster) -> None:
    for _ in range(RUNS):
        done = run(ASYNC_GETS + "    sys.exit(5)\nasyncio.run(main())\n", fake)
        assert (done.code, done.err) == (5, "")


@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.slow
def test_exit_while_threads_are_in_a_sync_get(fake: FakeCluster, daemon: bool) -> None:
    """Daemon threads are left behind; others are waited for by the interpreter."""

    async def slow(conn: Conn, request: Request) -> None:
        await asyncio.sleep(0.3)
        await conn.answer(request)

    fake.script = slow
    for _ in range(RUNS):
        done = run(
            CONNECT
            + f"""
client = PatientClient(config).connect()
done = []

def work(i):
    done.append(client.get(key(i), {{"total_timeout": 20000}}).bins["i"])

threads = [threading.Thread(target=work, args=(i,), daemon={daemon}) for i in range(8)]
for thread in threads:
    thread.start()
time.sleep(0.05)
if not {daemon}:
    import atexit
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(8))
""",
            fake,
        )
        assert (done.code, done.err) == (0, "")
        assert done.seconds < EXIT_S


def test_exit_while_a_daemon_thread_connects() -> None:
    with Blackhole() as hole:
        done = run(
            CONNECT
            + f"""
config["hosts"] = [("{hole.host}", {hole.port})]
client = PatientClient(config)
threading.Thread(target=client.connect, daemon=True).start()
time.sleep(0.1)
"""
        )
    assert (done.code, done.err) == (0, "")
    assert done.seconds < EXIT_S


def test_exit_while_nobody_answers(fake: FakeCluster) -> None:
    async def never(conn: Conn, request: Request) -> None:
        await conn.hang()

    fake.script = never
    done = run(ASYNC_GETS + "asyncio.run(main())\n", fake)
    assert (done.code, done.err) == (0, "")
    assert done.seconds < EXIT_S


def test_a_completion_that_nobody_awaits_any_more(fake: FakeCluster) -> None:
    """Loops come and go; what finishes after its loop was closed is dropped."""
    run_clean(
        ASYNC_GETS
        + """
for _ in range(5):
    asyncio.run(main())
    del client, gets
time.sleep(0.2)
asyncio.run(main())
""",
        fake,
    )


def test_an_import_starts_nothing() -> None:
    done = run_clean(
        """
import os
import aeroloop
print(len(os.listdir("/proc/self/task")))
aeroloop.client({"hosts": [("127.0.0.1", 1)]})
print(len(os.listdir("/proc/self/task")))
"""
    )
    assert done.out.split() == ["1", "1"]


@pytest.mark.parametrize(
    "holder",
    [
        "keep = client",
        "class Owner: pass\nowner = Owner()\nowner.client = client\nowner.self = owner",
        "keep = threading.local()\nkeep.client = client",
        "import builtins\nbuiltins.keep = client",
        "def keep(client=client): pass\nkeep.__globals__['f'] = keep",
    ],
)
def test_a_client_that_is_never_closed(fake: FakeCluster, holder: str) -> None:
    done = run_clean(
        CONNECT + f"client = PatientClient(config).connect()\n{holder}\n"
        "client.get(key(1))\n",
        fake,
    )
    assert done.seconds < EXIT_S


def test_a_failed_connect_leaves_nothing() -> None:
    done = run_clean(
        CONNECT
        + """
config = {"hosts": [("127.0.0.1", 1)], "timeout": 500}
for _ in range(5):
    client = PatientClient(config)
    try:
        client.connect()
    except aeroloop.ClusterError:
        pass
    else:
        raise AssertionError("connected to nothing")
"""
    )
    assert done.seconds < EXIT_S


def test_threads_do_not_pile_up(fake: FakeCluster) -> None:
    """The two workers serve all clients of the process, one after the other or at once;
    a name that was resolved leaves no pool of threads behind."""
    done = run_clean(
        CONNECT
        + """
config["hosts"] = [("localhost", int(sys.argv[2]))]
most = 0
for i in range(20):
    client = PatientClient(config).connect()
    other = PatientClient(config).connect()
    client.get(key(i))
    other.get(key(i))
    client.close()
    other.close()
    most = max(most, len(os.listdir("/proc/self/task")))
for _ in range(400):
    left = len(os.listdir("/proc/self/task"))
    if left <= 3:
        break
    time.sleep(0.01)
print(most, left)
""",
        fake,
    )
    most, left = map(int, done.out.split())
    assert most <= 1 + 2 + 2, "the workers, and one for each name being resolved"
    assert left <= 1 + 2
