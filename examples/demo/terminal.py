# SPDX-License-Identifier: Apache-2.0
"""What the demo prints: headings, a progress bar, and tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
BAR_WIDTH = 40


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def line(text: str) -> None:
    print(f"  {text}", flush=True)


def progress(steps: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Yield the steps; draw a bar that counts what `len` of each step adds."""
    tty = sys.stdout.isatty()
    done = 0
    for step in steps:
        yield step
        done += len(step)  # type: ignore[arg-type]
        if tty:
            full = BAR_WIDTH * done // total
            bar = "█" * full + "░" * (BAR_WIDTH - full)
            print(f"\r  {bar} {done:>7,} of {total:,} {what}", end="", flush=True)
    print(f"\r  {done:,} {what}".ljust(BAR_WIDTH + 40) if tty else f"  {done:,} {what}")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print text columns to the left, and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    right = [row[0].isdigit() for row in rows[0]]

    def show(cells: Sequence[str]) -> None:
        line(
            "   ".join(
                cell.rjust(width) if is_right else cell.ljust(width)
                for cell, width, is_right in zip(cells, widths, right, strict=True)
            ).rstrip()
        )

    show(titles)
    line("   ".join("─" * width for width in widths))
    for row in rows:
        show(row)
