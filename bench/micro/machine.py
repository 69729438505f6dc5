# SPDX-License-Identifier: Apache-2.0
"""On what the figures were measured."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    found = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return found[0] if found else platform.machine()


def commit() -> str:
    """The commit of the tree, marked when a file of the product differs from it."""
    root = Path(__file__).parents[2]
    try:
        name = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(
            root, "status", "--porcelain", "--", "src", "include", "python", "bench/c"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name} with changes" if changed else name


def _git(root: Path, *words: str) -> str:
    run = subprocess.run(
        ["git", "-C", str(root), *words],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return run.stdout.strip()


def load() -> float:
    """Of the last minute: what else the machine was doing."""
    return os.getloadavg()[0]


def facts() -> dict[str, str]:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "commit": commit(),
        "CPU": f"{cpu_name()}, {os.cpu_count()} cores",
        "kernel": platform.release(),
        "C library": " ".join(platform.libc_ver()),
        "Python": sys.version.split()[0],
    }
