# SPDX-License-Identifier: Apache-2.0
"""Medians, quartiles and ratios of the samples of a run, and what the goals say."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from fleet import PEERS

OURS = "aeroloop"
Samples = dict[str, list[dict[str, Any]]]


def spread(values: list[float]) -> tuple[float, float]:
    """The lower and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0]
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    return lower, upper


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def column(samples: Samples, name: str, what: str) -> list[float]:
    return [sample[what] for sample in samples.get(name, [])]


def best_peer(samples: Samples, what: str) -> str | None:
    there = [name for name in PEERS if samples.get(name)]
    return min(
        there, key=lambda name: median(column(samples, name, what)), default=None
    )


def ratio(samples: Samples, above: str, below: str, what: str) -> float:
    """The median over the rounds of what one took, divided by what the other took in
    the same round."""
    pairs = zip(column(samples, above, what), column(samples, below, what), strict=True)
    return median(a / b for a, b in pairs)


@dataclass(frozen=True)
class Verdict:
    row: str
    ours: str
    peer: str
    result: str
    goal: str
    reached: bool


def time_text(us: float) -> str:
    if us < 99.95:
        return f"{us:.1f} µs"
    return f"{us:.0f} µs" if us < 999.5 else f"{us / 1e3:.2f} ms"


def judge_case(case: dict[str, Any]) -> list[Verdict]:
    """Judge a case by its goals; one without goals gives no verdict."""
    samples: Samples = case["samples"]
    verdicts = []
    for what, goal in (("wall", case["speed"]), ("cpu", case["cpu"])):
        peer = best_peer(samples, what)
        if goal is None or peer is None:
            continue
        if what == "wall":
            result = ratio(samples, peer, OURS, what)
            texts = (f"{result:.2f}x", f"at least {goal:g}x")
            reached = result >= goal
        else:
            result = ratio(samples, OURS, peer, what)
            texts = (f"{result:.3f}x", f"at most {goal:g}x")
            reached = result <= goal
        row = case["title"] + (": CPU of the client" if what == "cpu" else "")
        verdicts.append(
            Verdict(
                f"{case['mode']}: {row}",
                time_text(median(column(samples, OURS, what))),
                f"{time_text(median(column(samples, peer, what)))} ({peer})",
                *texts,
                reached,
            )
        )
    return verdicts


FILL_CASE = "69 sent, 64 wanted, hot"
FILL_GOAL_NS = 12.0
IMPORT_GOAL_MS = 50.0
SIZE_GOAL_MB = 3.0


def import_cost(times: dict[str, list[float]], name: str) -> float:
    return median(a - b for a, b in zip(times[name], times["bare"], strict=True))


def judge_still(results: dict[str, Any]) -> list[Verdict]:
    """The rows that have an absolute goal."""
    fill = results["fill"][FILL_CASE]
    cost = import_cost(results["import"], OURS)
    size = results["sizes"][OURS] / 1e6
    return [
        _absolute("filling an array, per cell (200 x 64)", fill, FILL_GOAL_NS, "ns"),
        _absolute("import over a bare interpreter", cost, IMPORT_GOAL_MS, "ms"),
        _absolute("size of the extension", size, SIZE_GOAL_MB, "MB"),
    ]


def _absolute(row: str, value: float, goal: float, unit: str) -> Verdict:
    text = f"{value:.2f} {unit}"
    return Verdict(row, text, "", text, f"at most {goal:g} {unit}", value <= goal)


def judge(results: dict[str, Any]) -> list[Verdict]:
    verdicts = [v for case in results["cases"] for v in judge_case(case)]
    return verdicts + judge_still(results)
