# SPDX-License-Identifier: Apache-2.0
"""Batch reads of the seeded records: every value checked, then the rate measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import aeroloop
import data
import terminal

SIZES = [30, 200, 2_000]
IN_FLIGHT = 4  # batches at a time of one asyncio program
FORMS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda result: result.to_dict(),
    "NumPy": lambda result: result.to_numpy(data.FEATURE_DTYPE),
}


def check_dicts(result: Any, stored: list[dict[str, Any]]) -> int:
    """Compare every bin of an answer; return how many values that were."""
    found = result.to_dict()
    for number in result.all_user_keys():
        if found.get(number) != stored[number]:
            raise SystemExit(f"record {number} is not what was stored")
    return sum(map(len, found.values()))


def check_arrays(result: Any, stored: np.ndarray) -> int:
    answer = result.to_numpy(data.ROW_DTYPE)
    same = answer.batch_records == stored[result.all_user_keys()]
    if not same.all():
        number = result.all_user_keys()[int(same.argmin())]
        raise SystemExit(f"record {number} is not what was stored")
    return answer.batch_records.size * len(data.ROW_DTYPE.names or ())


class Sync:
    name = "sync"

    def __init__(self, client: aeroloop.Client) -> None:
        self.client = client

    def read(self, batches: list[list[data.Key]], form: Callable[[Any], Any]) -> None:
        for keys in batches:
            form(self.client.batch_read(keys))


class Async:
    name = f"async, {IN_FLIGHT} at once"

    def __init__(
        self, client: aeroloop.AsyncClient, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.client = client
        self.loop = loop

    def read(self, batches: list[list[data.Key]], form: Callable[[Any], Any]) -> None:
        self.loop.run_until_complete(self._read(batches, form))

    async def _read(
        self, batches: list[list[data.Key]], form: Callable[[Any], Any]
    ) -> None:
        waiting = iter(batches)

        async def reader() -> None:
            for keys in waiting:
                form(await self.client.batch_read(keys))

        await asyncio.gather(*(reader() for _ in range(IN_FLIGHT)))


def check(how: Sync | Async, rows: np.ndarray) -> int:
    """Read all records in both forms and all sizes; return how many values agree."""
    dicts = [data.bins(row) for row in rows]
    agree: list[int] = []
    for size in SIZES:
        batches = [
            data.keys(start, min(start + size, len(rows)))
            for start in range(0, len(rows), size)
        ]
        how.read(batches, lambda result: agree.append(check_dicts(result, dicts)))
        how.read(batches, lambda result: agree.append(check_arrays(result, rows)))
    return sum(agree)


def measure(
    how: Sync | Async, size: int, form: Callable[[Any], Any], seconds: float
) -> list[float]:
    """Return the seconds per batch of several rounds, which fill `seconds`."""
    rounds = []
    batches = [data.keys(s, s + size) for s in range(0, data.COUNT - size + 1, size)][
        : max(8, 4_000 // size)
    ]
    how.read(batches, form)  # warm
    end = time.perf_counter() + seconds
    while not rounds or time.perf_counter() < end:
        start = time.perf_counter()
        how.read(batches, form)
        rounds.append((time.perf_counter() - start) / len(batches))
    return rounds


def show(ways: list[Sync | Async], seconds: float) -> None:
    lines = []
    for size in SIZES:
        for form_name, form in FORMS.items():
            for how in ways:
                each = median(measure(how, size, form, seconds))
                lines.append(
                    [
                        f"{size:,}",
                        form_name,
                        how.name,
                        f"{each * 1e3:.2f}",
                        f"{1 / each:,.0f}",
                        f"{size / each:,.0f}",
                    ]
                )
    terminal.table(
        ["keys", "into", "calls", "ms/batch", "batches/s", "records/s"], lines
    )
