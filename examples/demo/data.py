# SPDX-License-Identifier: Apache-2.0
"""The records of the demo. Each value follows from the number of its record alone, so
that all that is read can be compared with what must have been stored."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMESPACE = "test"
SET = "aeroloop_demo"
COUNT = 10_000
FEATURES = [f"f{column}" for column in range(64)]
COUNTRIES = ["BR", "DE", "IN", "JP", "KE", "US"]

FEATURE_DTYPE = np.dtype([(name, "<f4") for name in FEATURES])
# The same with the five meta bins: what the check compares.
ROW_DTYPE = np.dtype(
    [
        ("user", "S16"),
        ("country", "S2"),
        ("age", "<i4"),
        ("active", "u1"),
        ("updated", "<i8"),
        *FEATURE_DTYPE.descr,
    ]
)

Key = tuple[str, str, int]


def keys(start: int = 0, stop: int = COUNT) -> list[Key]:
    return [(NAMESPACE, SET, number) for number in range(start, stop)]


def rows(start: int = 0, stop: int = COUNT) -> np.ndarray:
    """Return the records as one array. Features are exact in 32 bits."""
    number = np.arange(start, stop, dtype=np.uint64)
    out = np.zeros(len(number), ROW_DTYPE)
    out["user"] = [f"user-{n:05}".encode() for n in number]
    out["country"] = [COUNTRIES[n % len(COUNTRIES)].encode() for n in number]
    out["age"] = 18 + number % 70
    out["active"] = number % 3 != 0
    out["updated"] = 1_700_000_000_000 + number * 977
    for column, name in enumerate(FEATURES):
        mixed = (number * 64 + column) * 2_654_435_761 % 2**32
        out[name] = (mixed >> 8).astype(np.float64) / 2**24 - 0.5
    return out


def bins(row: np.void) -> dict[str, Any]:
    """Return one row of `rows` as the bins of a record."""
    record: dict[str, Any] = {name: row[name].item() for name in ROW_DTYPE.names}
    record["user"] = record["user"].decode()
    record["country"] = record["country"].decode()
    record["active"] = bool(record["active"])
    return record
