# SPDX-License-Identifier: Apache-2.0
"""A scripted server on loopback that answers, stalls, lies and hangs up as told.

It speaks info, the 8-byte frames and messages, and knows no rules of a database: what a
request gets is decided by a script, an ``async`` function of the connection and the
request. Without a script, reads and batches are answered from a dict::

    with FakeCluster() as fake:
        fake.put(key(1), {"a": 1})

        async def late(conn, request):
            await asyncio.sleep(0.2)
            await conn.answer(request)

        fake.script = late

All of it runs on one thread with an asyncio loop of its own. Counters may be read from
any thread; whatever touches sockets goes through ``FakeCluster.call``. The sources are
pages 01, 03, 04 and 05 of the protocol.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from support.fakewire import (
    INFO1_NO_BINS,
    INFO2_DELETE,
    NOT_FOUND,
    NULL,
    OP_WRITE,
    PARTITIONS,
    PROTO_INFO,
    PROTO_MESSAGE,
    PROTO_VERSION,
    Raw,
    Request,
    frame,
    key,
    message,
    ops,
    parse,
    trailer,
)

Script = Callable[["Conn", Request], Awaitable[None]]
InfoScript = Callable[["Conn", list[str]], Awaitable[None]]
InfoValue = str | None | Callable[[], str | None]


class Conn:
    """One accepted connection. Its methods belong to the loop's thread."""

    def __init__(
        self,
        node: FakeNode,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.node = node
        self.reader = reader
        self.writer = writer
        self.requests = 0  # messages, not info
        self.sent_at = 0.0  # monotonic, end of the last answer
        self.busy = False

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def trickle(self, data: bytes, chunk: int, pause: float) -> None:
        for at in range(0, len(data), chunk):
            self.send(data[at : at + chunk])
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def answer(self, request: Request) -> None:
        """What a well-behaved server sends."""
        self.send(self.node.cluster.answer_of(request))
        await self.writer.drain()

    async def hang(self) -> None:
        """Says nothing until the client hangs up."""
        await self.reader.read()

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Hangs up with a RST."""
        sock = self.writer.get_extra_info("socket")
        with contextlib.suppress(OSError):  # it is closed already
            linger = struct.pack("ii", 1, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()


class FakeNode:
    def __init__(self, cluster: FakeCluster, index: int) -> None:
        self.cluster = cluster
        self.index = index
        self.name = f"BB9{index + 1:013X}"
        self.host = "127.0.0.1"
        self.port = 0
        # What the tests may change at any time.
        self.script: Script | None = None
        self.info: dict[str, InfoValue] = {}
        self.info_script: InfoScript | None = None
        self.partition_generation = 1
        self.peers_generation = 1
        # What the tests may read at any time.
        self.accepted = 0
        self.conns: set[Conn] = set()
        self.requests: list[Request] = []
        self.info_requests: list[list[str]] = []
        self.turnarounds: list[float] = []  # s from an answer to the next request
        self.errors: list[BaseException] = []  # of scripts
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # loop thread

    async def start(self) -> None:
        """Not with an asyncio.Server: that loses what it accepts while it closes."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind((self.host, self.port))
        listener.listen(1024)
        self.port = listener.getsockname()[1]
        self._listener = listener
        asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    async def refuse(self) -> None:
        """Takes no connections any more; those that are open stay."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    async def stop(self) -> None:
        await self.refuse()
        await self.reset_all()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def reset_all(self) -> None:
        for conn in list(self.conns):
            conn.reset()

    async def close_idle(self) -> None:
        for conn in list(self.conns):
            if not conn.busy:
                conn.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        task = asyncio.ensure_future(self._serve(sock))
        self._tasks.add(task)
        task.add_done_callback(functools.partial(self._closed, sock))

    def _closed(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # before it began
            sock.close()

    async def _serve(self, sock: socket.socket) -> None:
        reader = asyncio.StreamReader(limit=1 << 20)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
        conn = Conn(
            self, reader, asyncio.StreamWriter(transport, protocol, reader, loop)
        )
        self.accepted += 1
        self.conns.add(conn)
        try:
            while True:
                await self._serve_one(conn)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.conns.discard(conn)
            transport.close()

    async def _serve_one(self, conn: Conn) -> None:
        head = await conn.reader.readexactly(8)
        conn.busy = True
        body = await conn.reader.readexactly(int.from_bytes(head[2:8], "big"))
        if head[1] == PROTO_INFO:
            await self._serve_info(conn, body)
        else:
            assert head[:2] == bytes([PROTO_VERSION, PROTO_MESSAGE]), head
            if conn.requests != 0:
                self.turnarounds.append(time.monotonic() - conn.sent_at)
            conn.requests += 1
            request = parse(body)
            self.requests.append(request)
            script = self.script or self.cluster.script
            if script is None:
                await conn.answer(request)
            else:
                await script(conn, request)
            conn.sent_at = time.monotonic()
        conn.busy = False

    async def _serve_info(self, conn: Conn, body: bytes) -> None:
        names = body.decode().split("\n")[:-1]
        self.info_requests.append(names)
        if self.info_script is not None:
            await self.info_script(conn, names)
            return
        conn.send(self.info_answer(names))
        await conn.writer.drain()

    def info_answer(self, names: list[str]) -> bytes:
        lines = []
        for name in names:
            value = self._info_value(name)
            if value is not None:
                lines.append(f"{name}\t{value}\n")
        return frame("".join(lines).encode(), PROTO_INFO)

    def _info_value(self, name: str) -> str | None:
        bare = name.split(":")[0]
        for known in (name, bare):
            if known in self.info:
                value = self.info[known]
                return value() if callable(value) else value
        values: dict[str, Callable[[], str]] = {
            "node": lambda: self.name,
            "build": lambda: "8.1.2.0",
            "partition-generation": lambda: str(self.partition_generation),
            "peers-generation": lambda: str(self.peers_generation),
            "rebalance-generation": lambda: "1",
            "cluster-name": lambda: "fake",
            "namespaces": lambda: "test",
            "partitions": lambda: str(PARTITIONS),
            "status": lambda: "ok",
            "features": lambda: "batch-any;peers;replicas",
            "edition": lambda: "Aerospike Community Edition",
            "peers-clear-std": lambda: self.cluster.peers_text(self),
            "peers-clear-alt": lambda: self.cluster.peers_text(self),
            "replicas": lambda: self.cluster.replicas_text(self),
            "service-clear-std": lambda: f"{self.host}:{self.port}",
            "service-clear-alt": lambda: "",
            "user-agent-set": lambda: "ok",
        }
        if bare in values:
            return values[bare]()
        return "ERROR:4:unrecognized command"


class FakeCluster:
    """Nodes, the records that they answer from, and the thread that they run on."""

    def __init__(self, nodes: int = 1, replicas: int = 1) -> None:
        self.script: Script | None = None  # of nodes that have none of their own
        self.records: dict[bytes, dict[str, object]] = {}
        self.replicas = replicas
        self.nodes = [FakeNode(self, index) for index in range(nodes)]
        # Owners of each partition, the master first.
        self.owners = [
            [self.nodes[(p + r) % nodes] for r in range(min(replicas, nodes))]
            for p in range(PARTITIONS)
        ]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="fakeserver", daemon=True
        )

    def __enter__(self) -> FakeCluster:
        self._thread.start()
        for node in self.nodes:
            self.call(node.start())
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            self.call(node.stop())
        self.call(asyncio.sleep(0.02))  # transports close in the turns that follow
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs `work` on the loop's thread and waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    @property
    def hosts(self) -> list[tuple[str, int]]:
        return [(node.host, node.port) for node in self.nodes]

    @property
    def requests(self) -> list[Request]:
        return [request for node in self.nodes for request in node.requests]

    @property
    def open_conns(self) -> int:
        return sum(len(node.conns) for node in self.nodes)

    @property
    def accepted(self) -> int:
        return sum(node.accepted for node in self.nodes)

    def check(self) -> None:
        """Raises what a script raised on the server's thread."""
        for node in self.nodes:
            if node.errors:
                raise node.errors[0]

    def put(
        self, full_key: tuple[str, str, object, bytes], bins: dict[str, object]
    ) -> None:
        self.records[full_key[3]] = bins

    def fill(self, count: int, bins: Callable[[int], dict[str, object]]) -> list[Any]:
        """Records 0 .. count-1, and their keys."""
        keys = [key(number) for number in range(count)]
        for number, one in enumerate(keys):
            self.put(one, bins(number))
        return keys

    # answers

    def row_of(
        self, digest: bytes, info1: int, names: Iterable[str], index: int
    ) -> bytes:
        bins = self.records.get(digest)
        if bins is None:
            return message(NOT_FOUND, index=index, generation=0)
        if info1 & INFO1_NO_BINS:
            return message(index=index)
        wanted = list(names)
        if wanted:
            bins = {name: bins[name] for name in wanted if name in bins}
        return message(bins=ops(bins), index=index)

    def answer_of(self, request: Request) -> bytes:
        if request.is_batch:
            rows = [
                self.row_of(row.digest, row.info1, row.names, row.index)
                for row in request.rows
            ]
            frames = []
            block = b""
            for row in rows:  # as a server: blocks of about 128 KiB
                block += row
                if len(block) > 1 << 17:
                    frames.append(frame(block))
                    block = b""
            if block:
                frames.append(frame(block))
            return b"".join(frames) + trailer()
        if request.is_write:
            return self._write_answer(request)
        names = [one.name for one in request.ops]
        return frame(self.row_of(request.digest, request.info1, names, 0))

    def _write_answer(self, request: Request) -> bytes:
        if request.info2 & INFO2_DELETE:
            found = self.records.pop(request.digest, None) is not None
            return frame(message(0 if found else NOT_FOUND, generation=0))
        bins = self.records.setdefault(request.digest, {})
        for one in request.ops:
            if one.type == OP_WRITE and one.particle == NULL:
                bins.pop(one.name, None)
            elif one.type == OP_WRITE:
                bins[one.name] = Raw(one.particle, one.data)
        return frame(message())

    # info texts

    def peers_text(self, node: FakeNode) -> str:
        peers = ",".join(
            f"[{peer.name},,[{peer.host}:{peer.port}]]"
            for peer in self.nodes
            if peer is not node
        )
        return f"{node.peers_generation},3000,[{peers}]"

    def replicas_text(self, node: FakeNode) -> str:
        maps = []
        for replica in range(self.replicas):
            bits = bytearray(PARTITIONS // 8)
            for partition, owners in enumerate(self.owners):
                if replica < len(owners) and owners[replica] is node:
                    bits[partition >> 3] |= 0x80 >> (partition & 7)
            maps.append(base64.b64encode(bits).decode())
        return f"test:0,{self.replicas}," + ",".join(maps)


class Blackhole:
    """A port that completes no TCP handshake: its queue of connections is full."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._fillers: list[socket.socket] = []

    def __enter__(self) -> Blackhole:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        self.host, self.port = self._listener.getsockname()
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((self.host, self.port))
            self._fillers.append(filler)
        return self

    def __exit__(self, *_: object) -> None:
        for filler in self._fillers:
            filler.close()
        self._listener.close()
