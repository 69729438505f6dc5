# SPDX-License-Identifier: Apache-2.0
"""One client in a process of its own: worker.py CLIENT MODE HOST PORT.

MODE is sync, async, or uvloop (async on that loop). Reads lines `WORK SIZE CALLS
OFFSET` from the standard input and answers each with a line of JSON: microseconds and
microseconds of the process's CPU, native threads included, per call. The work `check`
answers with the digest of all records instead, and `ready` with the version. A client
that raises gives the text of its exception as `failed`."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import clients
import records

IN_FLIGHT = 8
THREADS = 8
BEAT = 0.001  # seconds between two looks at the event loop
CHECK_SIZE = 2_000

Answer = dict[str, Any]


class Clock:
    """Starts with the garbage of others collected; the collector stays as it is."""

    def __init__(self) -> None:
        gc.collect()
        self._wall = time.perf_counter()
        self._cpu = time.process_time()

    def stop(self, calls: int) -> Answer:
        cpu = time.process_time() - self._cpu
        wall = time.perf_counter() - self._wall
        return {"wall": wall * 1e6 / calls, "cpu": cpu * 1e6 / calls}


def keys_of_calls(
    client: clients.Client, size: int, calls: int, offset: int
) -> list[list[Any]]:
    return [
        [client.key(n) for n in records.numbers(offset + call * size, size)]
        for call in range(calls)
    ]


def puts(client: clients.Client, calls: int, offset: int) -> list[tuple[Any, Any]]:
    return [
        (client.key(n, records.PUT_SET), records.put_bins(n))
        for n in records.numbers(offset, calls)
    ]


def form_of(client: clients.Client, work: str) -> Callable[[Any], Any]:
    return {"found": client.found, "dict": client.dicts, "numpy": client.matrix}[work]


def check_answer(digest: records.Digest, put: dict[str, Any], number: int) -> Answer:
    if put != records.put_bins(number):
        raise SystemExit(f"what was put was not read: {put}")
    return {"digest": digest.hex()}


def add_to_digest(
    digest: records.Digest, client: clients.Client, chunk: list[int], result: Any
) -> None:
    if client.found(result) != len(chunk):
        raise SystemExit(f"not all found of {chunk[0]}..{chunk[-1]}")
    dicts = client.dicts(result)
    digest.add_bins(dicts[n] for n in chunk)
    digest.add_rows(client.matrix(result).tobytes())


def chunks() -> list[list[int]]:
    return [
        list(range(start, min(start + CHECK_SIZE, records.COUNT)))
        for start in range(0, records.COUNT, CHECK_SIZE)
    ]


class SyncWorker:
    def __init__(self, name: str, host: clients.Host) -> None:
        self.client = clients.SYNC[name]()
        self.client.connect(host)

    def run(self, work: str, size: int, calls: int, offset: int) -> Answer:
        if work == "check":
            return self.check(offset)
        if work == "put":
            return self.put(calls, offset)
        if work == "fill":
            return self.fill(size, calls, offset)
        keys = keys_of_calls(self.client, size, calls, offset)
        if work == "get":
            return self.get([key for [key] in keys])
        if work == "threads":
            return self.threads([key for [key] in keys])
        return self.read(keys, form_of(self.client, work))

    def read(self, keys: list[list[Any]], form: Callable[[Any], Any]) -> Answer:
        read = self.client.read
        clock = Clock()
        for each in keys:
            form(read(each))
        return clock.stop(len(keys))

    def fill(self, size: int, calls: int, offset: int) -> Answer:
        """Fill arrays from one answer that is there already."""
        [keys] = keys_of_calls(self.client, size, 1, offset)
        form = self.client.matrix
        result = self.client.read(keys)
        clock = Clock()
        for _ in range(calls):
            form(result)
        return clock.stop(calls)

    def get(self, keys: list[Any]) -> Answer:
        get, bins_of = self.client.get, self.client.bins_of
        clock = Clock()
        for key in keys:
            bins_of(get(key))
        return clock.stop(len(keys))

    def threads(self, keys: list[Any]) -> Answer:
        get, bins_of = self.client.get, self.client.bins_of

        def reader(part: list[Any]) -> None:
            for key in part:
                bins_of(get(key))

        readers = [
            threading.Thread(target=reader, args=(keys[i::THREADS],))
            for i in range(THREADS)
        ]
        clock = Clock()
        for each in readers:
            each.start()
        for each in readers:
            each.join()
        return clock.stop(len(keys))

    def put(self, calls: int, offset: int) -> Answer:
        put = self.client.put
        todo = puts(self.client, calls, offset)
        clock = Clock()
        for key, bins in todo:
            put(key, bins)
        return clock.stop(calls)

    def check(self, offset: int) -> Answer:
        digest = records.Digest()
        for chunk in chunks():
            result = self.client.read([self.client.key(n) for n in chunk])
            add_to_digest(digest, self.client, chunk, result)
        [(key, bins)] = puts(self.client, 1, offset)
        self.client.put(key, bins)
        return check_answer(digest, self.client.bins_of(self.client.get(key)), offset)

    def close(self) -> None:
        self.client.close()


class AsyncWorker:
    def __init__(
        self, name: str, host: clients.Host, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.client = clients.ASYNC[name]()
        self.loop = loop
        self.loop.run_until_complete(self.client.connect_async(host))

    def run(self, work: str, size: int, calls: int, offset: int) -> Answer:
        return self.loop.run_until_complete(self._work(work, size, calls, offset))

    def _work(
        self, work: str, size: int, calls: int, offset: int
    ) -> Coroutine[Any, Any, Answer]:
        if work == "check":
            return self.check(offset)
        keys = keys_of_calls(self.client, size, calls, offset)
        if work == "get":
            return self.get([key for [key] in keys])
        if work == "gather":
            return self.gather(keys)
        if work == "flight":
            return self.flight(keys)
        return self.read(keys, form_of(self.client, work))

    async def read(self, keys: list[list[Any]], form: Callable[[Any], Any]) -> Answer:
        """One call in flight."""
        read = self.client.read
        clock = Clock()
        for each in keys:
            form(await read(each))
        return clock.stop(len(keys))

    async def get(self, keys: list[Any]) -> Answer:
        get, bins_of = self.client.get, self.client.bins_of
        clock = Clock()
        for key in keys:
            bins_of(await get(key))
        return clock.stop(len(keys))

    async def gather(self, keys: list[list[Any]]) -> Answer:
        get, bins_of = self.client.get, self.client.bins_of
        clock = Clock()
        for each in keys:
            for record in await asyncio.gather(*[get(key) for key in each]):
                bins_of(record)
        return clock.stop(len(keys))

    async def flight(self, keys: list[list[Any]]) -> Answer:
        """Eight calls in flight, each read into a matrix; and how late a timer of the
        event loop is meanwhile, in microseconds."""
        read, form = self.client.read, self.client.matrix
        waiting = iter(keys)
        late: list[float] = []

        async def reader() -> None:
            for each in waiting:
                form(await read(each))

        async def watcher() -> None:
            before = time.perf_counter()
            while True:
                await asyncio.sleep(BEAT)
                now = time.perf_counter()
                late.append((now - before - BEAT) * 1e6)
                before = now

        watch = self.loop.create_task(watcher())
        await asyncio.sleep(0)
        clock = Clock()
        late.clear()
        await asyncio.gather(*(reader() for _ in range(IN_FLIGHT)))
        answer = clock.stop(len(keys))
        watch.cancel()
        return {**answer, "late": late}

    async def check(self, offset: int) -> Answer:
        digest = records.Digest()
        for chunk in chunks():
            result = await self.client.read([self.client.key(n) for n in chunk])
            add_to_digest(digest, self.client, chunk, result)
        [(key, bins)] = puts(self.client, 1, offset)
        await self.client.put(key, bins)
        record = await self.client.get(key)
        return check_answer(digest, self.client.bins_of(record), offset)

    def close(self) -> None:
        self.loop.run_until_complete(self.client.close_async())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


def make_worker(name: str, mode: str, host: clients.Host) -> SyncWorker | AsyncWorker:
    if mode == "sync":
        return SyncWorker(name, host)
    if mode == "uvloop":
        import uvloop

        return AsyncWorker(name, host, uvloop.new_event_loop())
    if name == "aerospike_native":
        # As it comes: its import makes uvloop the policy of the process.
        import aerospike_native  # noqa: F401
    return AsyncWorker(name, host, asyncio.new_event_loop())


def attempt(
    worker: SyncWorker | AsyncWorker, work: str, size: int, calls: int, offset: int
) -> Answer:
    """A client may fail where the machine is busy: time-outs, its own limits."""
    try:
        return worker.run(work, size, calls, offset)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def main() -> None:
    # What a client prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, mode, address, port = sys.argv[1:]
    worker = make_worker(name, mode, (address, int(port)))
    for line in sys.stdin:
        work, *numbers = line.split()
        if work == "ready":
            answer: Answer = {"version": importlib.metadata.version(name)}
        else:
            answer = attempt(worker, work, *map(int, numbers))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    worker.close()


if __name__ == "__main__":
    main()
