# SPDX-License-Identifier: Apache-2.0
"""The run: every case in every round, the contenders of a case one right after the
other, in an order that rotates. A change of the machine's speed meets all of them."""

from __future__ import annotations

import dataclasses
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import records
from cases import Case
from fleet import FLOOR, Contender, Fleet

SAMPLE_US = 20_000.0  # what a contender may take for its calls of a round
MAX_CALLS = 1_000
ATTEMPTS = 5
PAUSE = 2.0  # seconds: a client that lost its node finds it again
RECORD_BYTES = 1_000  # less than any record of the answer takes

Samples = dict[str, list[dict[str, Any]]]  # by contender


def seed(put: Callable[[records.Key, dict[str, Any]], Any]) -> None:
    for number in range(records.COUNT):
        put((records.NAMESPACE, records.SET, number), records.bins(number))


def check_equal(fleet: Fleet) -> int:
    """All clients must read what was stored; return how many did."""
    expected = records.expected()
    for number, (mode, contender) in enumerate(fleet.everyone()):
        answer = contender.ask("check", 0, 0, number)
        if answer.get("digest") != expected:
            why = answer.get("failed", "it reads other values")
            raise SystemExit(f"{contender.name} ({mode}): {why}")
    return len(fleet.everyone())


def say(text: str) -> None:
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"\033[2K{text}" if end == "\r" else text, end=end, file=sys.stderr)


class Run:
    """`tiny` makes the samples one call: is there anything that does not run?"""

    def __init__(self, fleet: Fleet, cases: list[Case], tiny: bool) -> None:
        self._samples: dict[Case, Samples] = {case: {} for case in cases}
        self.failures: list[str] = []
        self._tiny = tiny
        self._contenders = {c: fleet.of(c.mode, c.contenders) for c in cases}
        self._calls: dict[tuple[Case, str], int] = {}
        self._random = random.Random(1)

    def warm(self) -> None:
        """Everything twice; the second time tells how many calls fill a sample."""
        say("warm up")
        for case, contenders in self._contenders.items():
            least = 1 if self._tiny else case.min_calls
            for each in contenders:
                self._ask(case, each, least, 0)
                answer = self._ask(case, each, least, 0)
                fitting = 1 if self._tiny else int(SAMPLE_US / answer["wall"])
                self._calls[case, each.name] = min(max(fitting, least), MAX_CALLS)

    def round(self, number: int, rounds: int) -> None:
        say(f"round {number + 1} of {rounds}")
        for index, (case, contenders) in enumerate(self._contenders.items()):
            offset = self._random.randrange(records.COUNT)
            first = (number + index) % len(contenders)
            for each in contenders[first:] + contenders[:first]:
                self._sample(case, each, offset)

    def _ask(
        self, case: Case, each: Contender, calls: int, offset: int
    ) -> dict[str, Any]:
        """A sample; again when the client failed, which is counted."""
        for _ in range(ATTEMPTS):
            answer = each.ask(case.work, case.size, calls, offset)
            if "failed" not in answer:
                return answer
            self.failures.append(f"{each.name}, {case.title}: {answer['failed']}")
            say(self.failures[-1])
            time.sleep(PAUSE)
        raise SystemExit(f"{each.name} cannot do it: {case.title}")

    def _sample(self, case: Case, each: Contender, offset: int) -> None:
        answer = self._ask(case, each, self._calls[case, each.name], offset)
        if each.name == FLOOR and case.work != "put":
            bytes_read = answer.pop("bytes")
            if bytes_read < case.size * RECORD_BYTES:
                raise SystemExit(f"the floor read {bytes_read} bytes: {case.title}")
        self._samples[case].setdefault(each.name, []).append(answer)

    def results(self) -> list[dict[str, Any]]:
        return [
            {**dataclasses.asdict(case), "samples": samples}
            for case, samples in self._samples.items()
        ]
