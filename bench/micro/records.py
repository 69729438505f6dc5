# SPDX-License-Identifier: Apache-2.0
"""The records of the benchmark, and what a client must give back for them.

Each value follows from the number of its record alone. Floats are exact in 32 bits, so
that one digest fits the values of a dict and those of an array."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import Any

NAMESPACE = "test"
SET = "bench"
PUT_SET = "bench_put"
COUNT = 10_000
FLOATS = [f"f{column}" for column in range(64)]
META = ["id", "name", "country", "created", "score"]
COUNTRIES = ["BR", "DE", "IN", "JP", "KE", "US"]

Key = tuple[str, str, int]


def features(number: int) -> list[float]:
    return [
        ((number * 64 + column) * 2_654_435_761 % 2**32 >> 8) / 2**24 - 0.5
        for column in range(len(FLOATS))
    ]


def bins(number: int) -> dict[str, Any]:
    meta = [
        number,
        f"user-{number:05}",
        COUNTRIES[number % len(COUNTRIES)],
        1_700_000_000_000 + number * 977,
        number / 4,
    ]
    return dict(zip(META + FLOATS, meta + features(number), strict=True))


def put_bins(number: int) -> dict[str, Any]:
    return {"a": number, "b": number / 4, "c": "a short text"}


def numbers(offset: int, size: int) -> list[int]:
    """The records of a call: `size` of them from `offset` on, round the end."""
    return [(offset + i) % COUNT for i in range(size)]


class Digest:
    """Of the values of records in their order, whatever the order of the bins."""

    def __init__(self) -> None:
        self._of_bins = hashlib.sha256()
        self._of_rows = hashlib.sha256()

    def add_bins(self, records: Iterable[dict[str, Any]]) -> None:
        for record in records:
            self._of_bins.update(repr(sorted(record.items())).encode())

    def add_rows(self, rows: bytes) -> None:
        """Takes the bytes of a matrix of 64 32-bit floats a row."""
        self._of_rows.update(rows)

    def hex(self) -> list[str]:
        return [self._of_bins.hexdigest(), self._of_rows.hexdigest()]


def expected() -> list[str]:
    """What `Digest.hex` gives after all records were added."""
    digest = Digest()
    digest.add_bins(map(bins, range(COUNT)))
    digest.add_rows(b"".join(pack(features(number)) for number in range(COUNT)))
    return digest.hex()


def pack(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)
