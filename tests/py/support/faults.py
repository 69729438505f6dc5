# SPDX-License-Identifier: Apache-2.0
"""What the tests of bad days share: fresh processes, watchdogs, and counters of fds,
threads and memory."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aeroloop
from support.fakeserver import FakeCluster

TESTS = Path(__file__).resolve().parents[1]

# The long loops run in full only when asked for.
SOAK = os.environ.get("AEROLOOP_SOAK") == "1"

# For what must not hang, on a machine that is busy with other things. A call that hangs
# ends the process: nothing can be learnt from the rest. All stacks are then in
# HANG_FILE, since pytest holds what is written to stderr, and would lose it.
HANG_FILE = Path(tempfile.gettempdir()) / f"aeroloop-hang-{os.getpid()}.txt"
HANG_S = 1800.0 if SOAK else 120.0


def repeats(full: int) -> int:
    """How often a loop of `full` rounds runs: a hundredth of it by default."""
    return full if SOAK else max(1, full // 100)


@contextmanager
def watchdog(seconds: float = HANG_S) -> Iterator[None]:
    with HANG_FILE.open("w") as stacks:
        faulthandler.dump_traceback_later(seconds, exit=True, file=stacks)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            HANG_FILE.unlink()


PATIENCE_MS = 60_000


def patient(policy: Any) -> Any:
    """The policy, with a time-out that a busy machine does not reach if it has none."""
    if policy is None or isinstance(policy, dict):
        return {"total_timeout": PATIENCE_MS, **(policy or {})}
    return policy


class PatientClient(aeroloop.Client):
    """For tests that are not about time: by default a call ends after a second, and a
    connect when a seed says nothing for a second; the machine that runs the tests may
    be busy for longer."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self.connects = 1 if "timeout" in config else 5

    def connect(self, *args: Any) -> Any:
        for _ in range(self.connects - 1):
            try:
                return super().connect(*args)
            except aeroloop.ClusterError as error:
                if "in time" not in str(error):
                    raise
        return super().connect(*args)

    def get(self, key: Any, policy: Any = None) -> Any:
        return super().get(key, patient(policy))

    def put(self, key: Any, bins: Any, meta: Any = None, policy: Any = None) -> None:
        super().put(key, bins, meta, patient(policy))

    def batch_read(self, keys: Any, bins: Any = None, policy: Any = None) -> Any:
        return super().batch_read(keys, bins, patient(policy))


class PatientAsyncClient(aeroloop.AsyncClient):
    def get(self, key: Any, policy: Any = None) -> Any:
        return super().get(key, patient(policy))

    def batch_read(self, keys: Any, bins: Any = None, policy: Any = None) -> Any:
        return super().batch_read(keys, bins, patient(policy))


@contextmanager
def connected(
    fake: FakeCluster, cls: type[aeroloop.Client] = PatientClient, **config: Any
) -> Iterator[aeroloop.Client]:
    """A client of the fake cluster; the tend is slow, so that it does not disturb."""
    settings = {"hosts": fake.hosts, "tend_interval": 60_000, **config}
    client = cls(settings).connect()
    try:
        yield client
    finally:
        client.close()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def fd_count() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def thread_count() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def memory_kb() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    err: str
    seconds: float


class Script:
    """A Python program in a process of its own. It finds `aeroloop` and `support`, the
    address of the first node in sys.argv[1:3], and further arguments behind it."""

    def __init__(self, code: str, fake: FakeCluster | None = None, *args: object):
        host = ["", "0"] if fake is None else [fake.hosts[0][0], str(fake.hosts[0][1])]
        env = dict(os.environ)
        paths = [str(TESTS), env.get("PYTHONPATH", "")]
        env["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        env["PYTHONWARNINGS"] = ""
        flags = ["-W", "error", "-W", "ignore:This process:DeprecationWarning"]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *flags, "-c", code, *host, *map(str, args)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self, seconds: float = HANG_S) -> Finished:
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(
                f"still running after {seconds} s\n{out}\n{err}"
            ) from None
        spent = time.monotonic() - self.started
        return Finished(self.process.returncode, out, err, spent)

    def line(self) -> str:
        """The next line of its output: how a script says how far it has come."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")


def run(code: str, fake: FakeCluster | None = None, *args: object) -> Finished:
    return Script(code, fake, *args).wait()


def run_clean(code: str, fake: FakeCluster | None = None, *args: object) -> Finished:
    """Runs a script that must end by itself, with 0 and without a word of complaint."""
    done = run(code, fake, *args)
    assert (done.code, done.err) == (0, ""), f"{done.code}\n{done.out}\n{done.err}"
    return done


CONNECT = """
import asyncio, os, signal, sys, threading, time
import aeroloop
from support.fakewire import digest_of, key
from support.faults import PatientAsyncClient, PatientClient
config = {"hosts": [(sys.argv[1], int(sys.argv[2]))], "tend_interval": 60000}
"""
