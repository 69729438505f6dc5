# SPDX-License-Identifier: Apache-2.0
"""The files of the repository, for tests that look at the sources themselves."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Where no git is: what a build or an editor leaves behind.
_NOT_OURS = {".git", ".venv", "__pycache__", "build", "dist"}


@cache
def files() -> tuple[Path, ...]:
    """Return every file that is, or is about to be, committed."""
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        paths = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        paths = [
            path
            for path in ROOT.rglob("*")
            if not any(part in _NOT_OURS for part in path.relative_to(ROOT).parts)
        ]
    return tuple(path for path in sorted(paths) if path.is_file())


def sources(folder: str, *suffixes: str) -> list[Path]:
    """Return the files below `folder` with one of the suffixes."""
    base = ROOT / folder
    return [p for p in files() if p.suffix in suffixes and p.is_relative_to(base)]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
