# SPDX-License-Identifier: Apache-2.0
"""Requests made by hand for the development server, and answers taken apart."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

READ, GET_ALL, BATCH, NO_BINS = 0x01, 0x02, 0x08, 0x20
WRITE, DELETE, GENERATION, CREATE_ONLY, RESPOND_ALL = 0x01, 0x02, 0x04, 0x20, 0x80
LAST, COMMIT_MASTER = 0x01, 0x02
OP_READ, OP_WRITE, OP_INCR, OP_APPEND, OP_TOUCH = 1, 2, 5, 9, 11
INTEGER, STRING, BLOB = 1, 3, 4
OK, NOT_FOUND = 0, 2
EPOCH = 1262304000


class Message(NamedTuple):
    result: int
    generation: int
    void_time: int
    index: int
    last: bool
    ops: list[tuple[int, int, bytes, bytes]]

    @property
    def bins(self):
        return {name.decode(): value for _, _, name, value in self.ops}


def frame(body, kind=3, version=2):
    return struct.pack(">BBHI", version, kind, len(body) >> 32, len(body)) + body


def field(kind, data):
    return struct.pack(">IB", 1 + len(data), kind) + data


def op(kind, name=b"", value=b"", particle=0):
    head = struct.pack(
        ">IBBBB", 4 + len(name) + len(value), kind, particle, 0, len(name)
    )
    return head + name + value


def write_op(name, value):
    if isinstance(value, int):
        return op(OP_WRITE, name.encode(), struct.pack(">q", value), INTEGER)
    if isinstance(value, str):
        return op(OP_WRITE, name.encode(), value.encode(), STRING)
    return op(OP_WRITE, name.encode(), value, BLOB)


def request(
    digest,
    info1=0,
    info2=0,
    info3=0,
    ops=(),
    ns=b"test",
    set_name=b"demo",
    generation=0,
    ttl=0,
    timeout=1000,
    fields=(),
):
    parts = [field(0, ns), field(1, set_name), field(4, digest), *fields]
    head = struct.pack(
        ">BBBBBBIIIHH",
        22,
        info1,
        info2,
        info3,
        0,
        0,
        generation,
        ttl,
        timeout,
        len(parts),
        len(ops),
    )
    return frame(head + b"".join(parts) + b"".join(ops))


def put(digest, bins, **more):
    ops = [write_op(name, value) for name, value in bins.items()]
    return request(digest, info2=WRITE | more.pop("info2", 0), ops=ops, **more)


def get(digest, **more):
    return request(digest, info1=READ | GET_ALL, **more)


def delete(digest, **more):
    return request(digest, info2=WRITE | DELETE, **more)


def row(index, digest, body=None):
    head = struct.pack(">I", index) + digest
    return head + (b"\x01" if body is None else body)


def row_body(info1=READ | GET_ALL, info2=0, ops=(), ns=b"test", set_name=b"demo"):
    fields = [field(0, ns), field(1, set_name)]
    head = struct.pack(">BBBBIHH", 0x0A, info1, info2, 0, 0, len(fields), len(ops))
    return head + b"".join(fields) + b"".join(ops)


def batch(rows, flags=0x0D, count=None, timeout=1000):
    payload = struct.pack(">IB", len(rows) if count is None else count, flags)
    parts = [field(41, payload + b"".join(rows))]
    head = struct.pack(">BBBBBBIIIHH", 22, BATCH, 0, 0, 0, 0, 0, 0, timeout, 1, 0)
    return frame(head + b"".join(parts))


def batch_get(digests, **more):
    rows = [row(i, d, row_body() if i == 0 else None) for i, d in enumerate(digests)]
    return batch(rows, **more)


def info(*commands):
    return frame("".join(c + "\n" for c in commands).encode(), kind=1)


def messages(body):
    at = 0
    while at < len(body):
        head = struct.unpack_from(">BBBBBBIIIHH", body, at)
        at += 22
        for _ in range(head[9]):
            at += 4 + struct.unpack_from(">I", body, at)[0]
        ops = []
        for _ in range(head[10]):
            size, kind, particle, _, name_len = struct.unpack_from(">IBBBB", body, at)
            name = body[at + 8 : at + 8 + name_len]
            ops.append((kind, particle, name, body[at + 8 + name_len : at + 4 + size]))
            at += 4 + size
        yield Message(head[5], head[6], head[7], head[8], bool(head[3] & LAST), ops)


class Wire:
    """One connection; closed by the context manager."""

    def __init__(self, address, timeout=20.0):
        self.sock = socket.create_connection(address, timeout=timeout)
        try:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:  # reset meanwhile
            self.sock.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _take(self, size):
        data = bytearray()
        while len(data) < size:
            got = self.sock.recv(size - len(data))
            if not got:
                raise EOFError
            data += got
        return bytes(data)

    def read_frame(self):
        head = self._take(8)
        return head[1], self._take(int.from_bytes(head[2:], "big"))

    def one(self, data=b""):
        """Send a request and read an answer of one message."""
        self.send(data)
        kind, body = self.read_frame()
        assert kind == 3
        (message,) = messages(body)
        return message

    def read_batch(self):
        """Rows of a batch by index, and the trailer; checks the rules of frames."""
        rows = {}
        while True:
            kind, body = self.read_frame()
            assert kind == 3
            found = list(messages(body))
            if found[-1].last:
                assert len(found) == 1, "the trailer has a frame of its own"
                return rows, found[0]
            assert len(body) <= 128 * 1024 or len(found) == 1
            for message in found:
                assert message.index not in rows
                rows[message.index] = message

    def batch(self, data):
        self.send(data)
        return self.read_batch()

    def info(self, *commands):
        self.send(info(*commands))
        kind, body = self.read_frame()
        assert kind == 1
        lines = body.decode().split("\n")[:-1]
        return [line.partition("\t")[2] for line in lines]

    def is_closed(self):
        """Wait for the server to close the connection."""
        try:
            return self.sock.recv(1) == b""
        except ConnectionError:
            return True
