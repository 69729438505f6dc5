# SPDX-License-Identifier: Apache-2.0
"""What is measured: one case a row of the tables, with the goals of the rows.

A goal is a factor to the best peer of the row: at least that many times its speed, or
at most that part of its CPU time. `None`: the row has no goal yet, and is shown."""

from __future__ import annotations

from dataclasses import dataclass

from fleet import CLIENTS, FLOOR, UVLOOP

# Records a batch, and the least calls of a sample: a call that the machine held up must
# not be the sample.
SIZES = {30: 30, 200: 10, 2_000: 2}
GETS = 200
FORMS = {"found": "found count", "dict": "dict", "numpy": "NumPy"}
GATHER = 1_000


@dataclass(frozen=True)
class Case:
    title: str
    mode: str  # sync or async
    work: str
    size: int = 1  # records a call
    speed: float | None = None  # goal, times the best peer
    cpu: float | None = None  # goal, part of the best peer's
    with_floor: bool = False
    min_calls: int = 1  # of a sample

    @property
    def contenders(self) -> list[str]:
        floor = [FLOOR] if self.with_floor else []
        uvloop = [UVLOOP] if self.mode == "async" else []
        return floor + CLIENTS + uvloop


# First goals: found count, NumPy and dict, by size.
SPEED = {
    (30, "found"): 2.0,
    (200, "found"): 3.5,
    (2_000, "found"): 3.5,
    (200, "numpy"): 5.0,
    (200, "dict"): 3.0,
}
# Of blocking calls: the best peer has no others.
CPU = {(200, "numpy"): 0.08}


def batch_cases(mode: str) -> list[Case]:
    return [
        Case(
            title=f"batch_read {size:,} → {name}",
            mode=mode,
            work=form,
            size=size,
            speed=SPEED.get((size, form)),
            cpu=CPU.get((size, form)) if mode == "sync" else None,
            with_floor=mode == "sync" and form == "found",
            min_calls=min_calls,
        )
        for size, min_calls in SIZES.items()
        for form, name in FORMS.items()
    ]


ALL = [
    *batch_cases("sync"),
    Case("get, 69 bins to dict", "sync", "get", 1, 1.05, 0.8, True, GETS),
    Case("put, 3 bins", "sync", "put", 1, 1.0, with_floor=True, min_calls=GETS),
    Case("get in 8 threads, time per get", "sync", "threads", min_calls=2 * GETS),
    Case("array from an answer of 200", "sync", "fill", 200, min_calls=10),
    *batch_cases("async"),
    Case(
        "batch_read 200 → NumPy, 8 in flight, time per batch",
        "async",
        "flight",
        200,
        min_calls=32,
    ),
    Case("await get, one at a time", "async", "get", 1, 1.3, min_calls=GETS),
    Case(f"gather of {GATHER:,} gets", "async", "gather", GATHER),
]
