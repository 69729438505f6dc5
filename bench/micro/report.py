# SPDX-License-Identifier: Apache-2.0
"""The page of a run: results as JSON in, Markdown out.

As a program, `report.py RESULTS.json [NOTES.md]` prints the page anew."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import stats
from fleet import CLIENTS, FLOOR, UVLOOP
from stats import OURS, time_text

INTRO = """\
# What reading costs

Written by `make bench`. Each contender has a process of its own; all run on one machine
with the server, and in each round the contenders of a row follow each other at once, in
an order that rotates. A cell is the median over {rounds} rounds [quartiles]; a ratio is
the median of the ratios of the rounds. Records have 5 meta bins and 64 floats, 1.3 KB
each on the wire; keys exist before the clock runs, results are gone when it stops. All
clients were seen to read the same {records:,} records before anything was measured.

"Floor" is a request made by hand in C whose answer is read and thrown away: the server
and the loopback alone. The server is {server}.

    make bench BENCH_ROUNDS={rounds}
    make bench AEROSPIKE_HOST=... AEROSPIKE_PORT=...   # on a real server
"""

ASYNC_FACTS = """\
`aerospike` has no asyncio: its calls run in threads here, by `asyncio.to_thread`.
`aerospike_native` makes uvloop the event loop by its import, and is measured so; the
column "{uvloop}" is ours on that loop.
"""


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(case: dict[str, Any], name: str, what: str) -> str:
    values = stats.column(case["samples"], name, what)
    if not values:
        return "-"
    low, high = stats.spread(values)
    scale, digits = (1e3, 2) if high >= 999.5 else (1.0, 1 if high < 99.95 else 0)
    unit = "ms" if scale > 1 else "µs"
    middle = f"{median(values) / scale:.{digits}f} {unit}"
    return f"{middle} [{low / scale:.{digits}f}..{high / scale:.{digits}f}]"


def best_ratio(case: dict[str, Any], what: str) -> str:
    samples = case["samples"]
    peer = stats.best_peer(samples, what)
    if peer is None:
        return "-"
    if what == "wall":
        return f"{stats.ratio(samples, peer, OURS, what):.1f}x"
    return f"{stats.ratio(samples, OURS, peer, what):.3f}x"


def mode_table(results: dict[str, Any], mode: str, what: str) -> str:
    cases = [case for case in results["cases"] if case["mode"] == mode]
    extra = [UVLOOP] if mode == "async" else [FLOOR]
    names = [
        name
        for name in [*extra, *CLIENTS]
        if any(name in case["samples"] for case in cases)
    ]
    last = "to the best peer" if what == "wall" else "of the best peer's"
    return table(
        ["", *names, last],
        (
            [
                case["title"],
                *(cell(case, name, what) for name in names),
                best_ratio(case, what),
            ]
            for case in cases
        ),
    )


def gap_table(results: dict[str, Any]) -> str:
    rows = []
    flights = [case for case in results["cases"] if case["work"] == "flight"]
    for case, name in ((c, name) for c in flights for name in c["samples"]):
        samples = case["samples"][name]
        late = [each for sample in samples for each in sample["late"]]
        rate = 1e6 / median(stats.column(case["samples"], name, "wall"))
        gaps = [
            time_text(stats.percentile(late, share)) if late else "-"
            for share in (0.5, 0.99)
        ]
        rows.append([name, f"{rate:,.0f} /s", *gaps])
    return table(["8 x batch_read(200) → NumPy", "batches", "p50", "p99"], rows)


def still_table(results: dict[str, Any]) -> str:
    times, sizes = results["import"], results["sizes"]
    return table(
        ["", "import, over a bare interpreter", "extension, stripped"],
        (
            [
                name,
                f"{stats.import_cost(times, name):.0f} ms",
                f"{sizes[name] / 1e6:.2f} MB",
            ]
            for name in sizes
        ),
    )


def fill_table(results: dict[str, Any]) -> str:
    return table(
        ["records as sent, bins wanted (200 records)", "ns per wanted cell"],
        ([name, f"{value:.1f}"] for name, value in results["fill"].items()),
    )


def verdict_table(results: dict[str, Any]) -> str:
    return table(
        ["row", OURS, "best peer", "result", "goal", ""],
        (
            [
                v.row,
                v.ours,
                v.peer,
                v.result,
                v.goal,
                "reached" if v.reached else "**missed**",
            ]
            for v in stats.judge(results)
        ),
    )


def machine_table(results: dict[str, Any]) -> str:
    facts = {**results["machine"], "load before": f"{results['load']:.1f}"}
    facts["clients"] = ", ".join(f"{n} {v}" for n, v in results["versions"].items())
    if results["missing"]:
        facts["not installed"] = ", ".join(results["missing"])
    return table(["", ""], facts.items())


def failures(results: dict[str, Any]) -> str:
    if not results["failures"]:
        return ""
    lines = [f"- {line}" for line in dict.fromkeys(results["failures"])]
    head = "Samples that a client could not finish at first, and that were repeated:\n"
    return "\n".join([head, *lines]) + "\n"


def page(results: dict[str, Any], notes: str = "") -> str:
    missed = [v for v in stats.judge(results) if not v.reached]
    outcome = f"{len(missed)} of {len(stats.judge(results))} rows missed.\n"
    parts = [
        INTRO.format(
            rounds=results["rounds"],
            records=results["records"],
            server=results["server"],
        ),
        machine_table(results),
        "## Goals\n",
        outcome,
        verdict_table(results),
        "## Blocking calls: time per call\n",
        mode_table(results, "sync", "wall"),
        "## asyncio: time per call\n",
        ASYNC_FACTS.format(uvloop=UVLOOP),
        mode_table(results, "async", "wall"),
        "How late a timer of 1 ms is on the event loop meanwhile:\n",
        gap_table(results),
        failures(results),
        "## CPU of the client's process, all its threads: time per call\n",
        mode_table(results, "sync", "cpu"),
        mode_table(results, "async", "cpu"),
        "## Without a server\n",
        still_table(results),
        fill_table(results),
        notes,
    ]
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def summary(results: dict[str, Any]) -> str:
    """Plain lines for a terminal."""
    verdicts = stats.judge(results)
    rows = [
        (v.row, v.ours, v.peer, v.result, v.goal, "reached" if v.reached else "MISSED")
        for v in verdicts
    ]
    widths = [max(map(len, each)) for each in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())
    notes = Path(sys.argv[2]).read_text() if len(sys.argv) > 2 else ""
    sys.stdout.write(page(results, notes))


if __name__ == "__main__":
    main()
