# SPDX-License-Identifier: Apache-2.0
"""The processes that are measured: each contender has its own, and waits for a line."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import records

HERE = Path(__file__).parent
PEERS = ["aerospike", "aerospike_py", "aerospike_native"]
CLIENTS = ["aeroloop", *PEERS]
FLOOR = "floor"
UVLOOP = "aeroloop, uvloop"

Host = tuple[str, int]


class Contender:
    """A process that answers lines; see worker.py and bench/c/floor_bench.c."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, work: str, *numbers: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join([work, *map(str, numbers)]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise SystemExit(f"{self.name} ended with status {status} at: {work}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        try:
            self._process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


class Fleet:
    """All contenders, by mode (sync or async) and name."""

    def __init__(self, host: Host, floor_program: Path) -> None:
        self.versions: dict[str, str] = {}
        self.missing = [name for name in PEERS if not is_there(name)]
        self._modes: dict[str, list[Contender]] = {"sync": [], "async": []}
        try:
            self._start(host, floor_program)
        except BaseException:
            self.close()
            raise

    def _start(self, host: Host, floor_program: Path) -> None:
        address, port = host[0], str(host[1])
        command = [str(floor_program), address, port, str(records.COUNT)]
        self._modes["sync"].append(Contender(FLOOR, command))
        for mode, contenders in self._modes.items():
            for name in CLIENTS:
                if name not in self.missing:
                    contenders.append(self._worker(name, name, mode, host))
        if is_there("uvloop"):
            self._modes["async"].append(
                self._worker(UVLOOP, "aeroloop", "uvloop", host)
            )

    def _worker(self, name: str, client: str, mode: str, host: Host) -> Contender:
        script = str(HERE / "worker.py")
        command = [sys.executable, script, client, mode, host[0], str(host[1])]
        contender = Contender(name, command)
        self.versions[client] = contender.ask("ready")["version"]
        return contender

    def of(self, mode: str, names: list[str]) -> list[Contender]:
        return [each for each in self._modes[mode] if each.name in names]

    def everyone(self) -> list[tuple[str, Contender]]:
        """All clients, with their modes; not the floor."""
        return [
            (mode, each)
            for mode, contenders in self._modes.items()
            for each in contenders
            if each.name != FLOOR
        ]

    def close(self) -> None:
        for contenders in self._modes.values():
            for each in contenders:
                each.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
