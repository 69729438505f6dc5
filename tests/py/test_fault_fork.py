# SPDX-License-Identifier: Apache-2.0
"""Processes that fork while a client is open: cases B01, B02, B03."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from support.fakeserver import Conn, FakeCluster
from support.fakewire import Request
from support.faults import CONNECT, SOAK, Script, repeats, run_clean, wait_until


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.fill(1000, lambda number: {"i": number})
        yield cluster
        cluster.check()


FORK = """
def in_child(work, alarm=20):
    pid = os.fork()
    if pid == 0:
        signal.alarm(alarm)  # a child that hangs dies of it
        code = 99
        try:
            work()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid

def join(pid):
    status = os.waitpid(pid, 0)[1]
    assert status == 0, f"the child ended with {status}"
"""


@pytest.mark.slow
def test_a_child_uses_the_client_of_its_parent(fake: FakeCluster) -> None:
    rounds = repeats(1000)
    run_clean(
        CONNECT
        + FORK
        + f"""
client = PatientClient(config).connect()
assert client.get(key(1)).bins == {{"i": 1}}

def work():
    assert client.get(key(2)).bins == {{"i": 2}}
    rows = client.batch_read([key(i) for i in range(100)])
    assert rows.to_list() == [{{"i": i}} for i in range(100)]
    client.close()

join(in_child(work))
for i in range({rounds}):
    assert client.get(key(i % 1000)).bins == {{"i": i % 1000}}
client.close()
""",
        fake,
    )


def test_a_child_that_leaves_the_client_alone_ends(fake: FakeCluster) -> None:
    run_clean(
        CONNECT
        + FORK
        + """
client = PatientClient(config).connect()
client.get(key(1))
for _ in range(10):
    join(in_child(lambda: None))
pid = os.fork()
if pid == 0:
    sys.exit(0)  # with all the clean-up of an interpreter
join(pid)
assert client.get(key(3)).bins == {"i": 3}
""",
        fake,
    )


def test_workers_of_a_prefork_server(fake: FakeCluster) -> None:
    """Four children, two threads each, and the parent, all at once."""
    run_clean(
        CONNECT
        + FORK
        + """
client = PatientClient(config).connect()
client.get(key(0))

def get_many(errors):
    try:
        for i in range(200):
            assert client.get(key(i)).bins == {"i": i}
    except BaseException as error:
        errors.append(error)

def work():
    errors = []
    threads = [threading.Thread(target=get_many, args=(errors,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    client.close()

pids = [in_child(work, 60) for _ in range(4)]
work()
for pid in pids:
    join(pid)
""",
        fake,
    )


def test_a_grandchild_uses_the_client_too(fake: FakeCluster) -> None:
    run_clean(
        CONNECT
        + FORK
        + """
client = PatientClient(config).connect()

def grandchild():
    assert client.get(key(3)).bins == {"i": 3}

def child():
    assert client.get(key(2)).bins == {"i": 2}
    join(in_child(grandchild))
    assert client.get(key(4)).bins == {"i": 4}

join(in_child(child))
assert client.get(key(5)).bins == {"i": 5}
""",
        fake,
    )


@pytest.mark.slow
def test_fork_while_threads_have_gets_in_flight(fake: FakeCluster) -> None:
    """The answers in flight belong to the parent; the child must not take one."""

    async def soon(conn: Conn, request: Request) -> None:
        await asyncio.sleep(random.uniform(0.001, 0.02))
        await conn.answer(request)

    fake.script = soon
    run_clean(
        CONNECT
        + FORK
        + f"""
client = PatientClient(config).connect()
policy = {{"total_timeout": 20000}}
over = threading.Event()
errors = []

def get_for_ever(start):
    try:
        i = start
        while not over.is_set():
            assert client.get(key(i % 1000), policy).bins == {{"i": i % 1000}}
            i += 1
    except BaseException as error:
        errors.append(error)

def work():
    for i in range(3):
        assert client.get(key(i), policy).bins == {{"i": i}}
    client.close()

threads = [threading.Thread(target=get_for_ever, args=(n * 37,)) for n in range(8)]
for thread in threads:
    thread.start()
try:
    for _ in range({200 if SOAK else 10}):
        join(in_child(work))
finally:
    over.set()
    for thread in threads:
        thread.join()
if errors:
    raise errors[0]
client.close()
""",
        fake,
    )


def test_fork_while_asyncio_has_gets_in_flight(fake: FakeCluster) -> None:
    async def soon(conn: Conn, request: Request) -> None:
        await asyncio.sleep(random.uniform(0.005, 0.05))
        await conn.answer(request)

    fake.script = soon
    run_clean(
        CONNECT
        + FORK
        + """
policy = {"total_timeout": 60000}

def work():
    # A loop of its own: that of the parent is running further up this stack.
    client = PatientClient(config).connect()
    assert client.get(key(1), policy).bins == {"i": 1}
    client.close()

async def main():
    client = await PatientAsyncClient(config).connect()
    gets = [client.get(key(i), policy) for i in range(1000)]
    await asyncio.sleep(0.02)
    pids = []
    for _ in range(3):
        pids.append(in_child(work))
        await asyncio.sleep(0.05)
    records = await asyncio.gather(*gets)
    assert [record.bins["i"] for record in records] == list(range(1000))
    await client.close()
    for pid in pids:
        join(pid)

asyncio.run(main())
""",
        fake,
    )


def test_an_inherited_client_is_closed_at_once(fake: FakeCluster) -> None:
    """And the connections of the parent stay: the child neither writes nor shuts."""
    script = Script(
        CONNECT
        + FORK
        + """
client = PatientClient(config).connect()
client.get(key(1))
print("ready", flush=True)
sys.stdin.readline()

def work():
    started = time.monotonic()
    client.close()
    spent = time.monotonic() - started
    # It takes a few ms; joining threads that are not there would take for ever.
    assert spent < 5, spent
    client.close()
    other = PatientClient(config).connect()
    assert other.get(key(2)).bins == {"i": 2}
    other.close()

join(in_child(work))
print("joined", flush=True)
sys.stdin.readline()
assert client.get(key(3)).bins == {"i": 3}
client.close()
""",
        fake,
    )
    node = fake.nodes[0]
    assert script.line() == "ready"
    of_parent = set(node.conns)
    assert of_parent
    assert script.process.stdin is not None
    script.process.stdin.write("\n")
    script.process.stdin.flush()
    assert script.line() == "joined"
    assert wait_until(lambda: node.conns == of_parent), "the child's connections stay"
    done = script.wait()
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("ending", ["sys.exit(0)", "os._exit(0)", "raise SystemExit"])
def test_children_after_a_name_was_resolved(fake: FakeCluster, ending: str) -> None:
    """The seed is a name: resolving it must leave nothing that a child trips over."""
    run_clean(
        CONNECT
        + FORK
        + f"""
config["hosts"] = [("localhost", int(sys.argv[2]))]
client = PatientClient(config).connect()
client.get(key(1))
pids = []
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        {ending}
    pids.append(pid)
for pid in pids:
    join(pid)

signal.signal(signal.SIGCHLD, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
os.kill(os.getpid(), signal.SIGCHLD)  # pending while the next child is made
join(in_child(lambda: client.get(key(2))))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
assert client.get(key(3)).bins == {{"i": 3}}
""",
        fake,
    )


@pytest.mark.slow
def test_multiprocessing(fake: FakeCluster) -> None:
    run_clean(
        CONNECT
        + f"""
import multiprocessing
context = multiprocessing.get_context("fork")
config["hosts"] = [("localhost", int(sys.argv[2]))]
client = PatientClient(config).connect()

def noop():
    pass

def get():
    assert client.get(key(7)).bins == {{"i": 7}}

processes = [context.Process(target=noop) for _ in range({50 if SOAK else 10})]
processes += [context.Process(target=get) for _ in range(3)]
for process in processes:
    process.start()
for process in processes:
    process.join()
assert [process.exitcode for process in processes] == [0] * len(processes)
""",
        fake,
    )
