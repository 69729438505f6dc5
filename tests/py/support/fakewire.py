# SPDX-License-Identifier: Apache-2.0
"""Bytes of the fake server: values, frames and the requests of clients taken apart."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field

PARTITIONS = 4096

PROTO_VERSION = 2
PROTO_INFO = 1
PROTO_MESSAGE = 3
PROTO_COMPRESSED = 4

INFO1_READ = 0x01
INFO1_BATCH = 0x08
INFO1_NO_BINS = 0x20
INFO2_WRITE = 0x01
INFO2_DELETE = 0x02
INFO3_LAST = 0x01

FIELD_NAMESPACE = 0
FIELD_DIGEST = 4
FIELD_BATCH = 41

OP_READ = 1
OP_WRITE = 2
OP_TOUCH = 11

ROW_REPEAT = 0x01
ROW_INFO = 0x02
ROW_GENERATION = 0x04
ROW_TTL = 0x08
ROW_INFO4 = 0x10

NULL, INTEGER, FLOAT, STRING, BLOB, BOOL = 0, 1, 2, 3, 4, 17
HLL, MAP, LIST, GEOJSON = 18, 19, 20, 23

NOT_FOUND = 2
KEY_MAGIC = 0x6165726F


def digest_of(number: int) -> bytes:
    """A digest that spreads over the partitions and from which `number` comes back."""
    return struct.pack(
        "<HHIIQ", number * 2654435761 >> 7 & 0xFFFF, 0, KEY_MAGIC, 0, number
    )


def number_of(digest: bytes) -> int:
    assert struct.unpack_from("<I", digest, 4)[0] == KEY_MAGIC, "a foreign digest"
    return int(struct.unpack_from("<Q", digest, 12)[0])


def key(number: int) -> tuple[str, str, int, bytes]:
    """The explicit digest wins, so that the server knows the number without a hash."""
    return ("test", "demo", number, digest_of(number))


def partition_of(digest: bytes) -> int:
    return int.from_bytes(digest[:2], "little") & (PARTITIONS - 1)


@dataclass(frozen=True)
class Raw:
    """A bin value as bytes, of any particle type."""

    particle: int
    data: bytes


def pack(value: object) -> bytes:
    """The msgpack of a list or map element."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        return b"\xd3" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str | bytes):
        text = isinstance(value, str)
        data = value.encode() if isinstance(value, str) else value
        return (
            b"\xdb" + struct.pack(">IB", len(data) + 1, STRING if text else BLOB) + data
        )
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    if isinstance(value, dict):
        pairs = b"".join(pack(k) + pack(v) for k, v in value.items())
        return b"\xdf" + struct.pack(">I", len(value)) + pairs
    raise TypeError(f"cannot pack {value!r}")


def particle_of(value: object) -> Raw:
    if isinstance(value, Raw):
        return value
    if value is None:
        return Raw(NULL, b"")
    if isinstance(value, bool):
        return Raw(BOOL, bytes([value]))
    if isinstance(value, int):
        return Raw(INTEGER, struct.pack(">q", value))
    if isinstance(value, float):
        return Raw(FLOAT, struct.pack(">d", value))
    if isinstance(value, str):
        return Raw(STRING, value.encode())
    if isinstance(value, bytes):
        return Raw(BLOB, value)
    return Raw(LIST if isinstance(value, list) else MAP, pack(value))


def nested_list(depth: int) -> Raw:
    """Lists of one element in each other, an integer in the innermost."""
    return Raw(LIST, b"\x91" * depth + b"\x07")


def frame(
    body: bytes,
    kind: int = PROTO_MESSAGE,
    version: int = PROTO_VERSION,
    length: int | None = None,
) -> bytes:
    size = len(body) if length is None else length
    return struct.pack(">BB", version, kind) + size.to_bytes(6, "big") + body


def op(name: str | bytes, value: object, op_type: int = OP_READ) -> bytes:
    raw = particle_of(value)
    name = name.encode() if isinstance(name, str) else name
    size = 4 + len(name) + len(raw.data)
    head = struct.pack(">IBBBB", size, op_type, raw.particle, 0, len(name))
    return head + name + raw.data


def ops(bins: dict[str, object]) -> list[bytes]:
    return [op(name, value) for name, value in bins.items()]


def message(
    result: int = 0,
    bins: Iterable[bytes] = (),
    *,
    index: int = 0,
    generation: int = 1,
    void_time: int = 0,
    info3: int = 0,
    n_fields: int = 0,
    n_ops: int | None = None,
) -> bytes:
    parts = list(bins)
    head = struct.pack(
        ">BBBBBBIIIHH",
        22,
        0,
        0,
        info3,
        0,
        result,
        generation,
        void_time,
        index,
        n_fields,
        len(parts) if n_ops is None else n_ops,
    )
    return head + b"".join(parts)


def trailer(result: int = 0) -> bytes:
    return frame(message(result, generation=0, info3=INFO3_LAST))


@dataclass(frozen=True)
class Op:
    type: int
    particle: int
    name: str
    data: bytes


@dataclass(frozen=True)
class Row:
    index: int
    digest: bytes
    info1: int
    names: tuple[str, ...]


@dataclass
class Request:
    """One message of a client, taken apart."""

    body: bytes
    info1: int = 0
    info2: int = 0
    info3: int = 0
    timeout_ms: int = 0
    fields: dict[int, bytes] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    @property
    def is_batch(self) -> bool:
        return bool(self.info1 & INFO1_BATCH)

    @property
    def is_write(self) -> bool:
        return bool(self.info2 & (INFO2_WRITE | INFO2_DELETE))

    @property
    def digest(self) -> bytes:
        return self.fields[FIELD_DIGEST]

    @property
    def number(self) -> int:
        return number_of(self.digest)


def _take_fields(body: bytes, at: int, count: int) -> tuple[dict[int, bytes], int]:
    fields = {}
    for _ in range(count):
        size, kind = struct.unpack_from(">IB", body, at)
        fields[kind] = body[at + 5 : at + 4 + size]
        at += 4 + size
    return fields, at


def _take_ops(body: bytes, at: int, count: int) -> tuple[list[Op], int]:
    taken = []
    for _ in range(count):
        size, kind, particle, _, name_len = struct.unpack_from(">IBBBB", body, at)
        name = body[at + 8 : at + 8 + name_len].decode()
        taken.append(Op(kind, particle, name, body[at + 8 + name_len : at + 4 + size]))
        at += 4 + size
    return taken, at


def _take_rows(payload: bytes) -> list[Row]:
    count = struct.unpack_from(">I", payload)[0]
    at = 5
    rows: list[Row] = []
    for _ in range(count):
        index = struct.unpack_from(">I", payload, at)[0]
        digest = payload[at + 4 : at + 24]
        flags = payload[at + 24]
        at += 25
        if flags & ROW_REPEAT:
            rows.append(Row(index, digest, rows[-1].info1, rows[-1].names))
            continue
        info1 = payload[at]
        at += 1
        for flag, size in (
            (ROW_INFO, 2),
            (ROW_INFO4, 1),
            (ROW_GENERATION, 2),
            (ROW_TTL, 4),
        ):
            at += size if flags & flag else 0
        n_fields, n_ops = struct.unpack_from(">HH", payload, at)
        _, at = _take_fields(payload, at + 4, n_fields)
        asked, at = _take_ops(payload, at, n_ops)
        rows.append(Row(index, digest, info1, tuple(one.name for one in asked)))
    return rows


def parse(body: bytes) -> Request:
    assert body[0] == 22, "the header of a message has 22 bytes"
    n_fields, n_ops = struct.unpack_from(">HH", body, 18)
    request = Request(
        body,
        info1=body[1],
        info2=body[2],
        info3=body[3],
        timeout_ms=struct.unpack_from(">I", body, 14)[0],
    )
    request.fields, at = _take_fields(body, 22, n_fields)
    request.ops, _ = _take_ops(body, at, n_ops)
    if request.is_batch:
        request.rows = _take_rows(request.fields[FIELD_BATCH])
    return request
