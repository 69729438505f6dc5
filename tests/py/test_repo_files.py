# SPDX-License-Identifier: Apache-2.0
"""What must hold for every committed file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import repo

NEEDS_LICENCE = {".c", ".h", ".py", ".pyi", ".sh", ".cmake", ".toml"}
SPDX = "SPDX-License-Identifier: Apache-2.0"
# Assembled, so that this file does not hold what it forbids.
FOLDERS = "|".join(["work", "root", "home", "opt", "Users"])
MACHINE_PATH = re.compile(rf"(?<![\w./-])/(?:{FOLDERS})/[A-Za-z0-9_.]")
HOSTS = "|".join(
    re.escape(".".join(parts))
    for parts in [
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("registry", "npmjs", "org"),
        ("crates", "io"),
        ("pkg", "dev"),
    ]
)
REGISTRY = re.compile(rf"\b(?:{HOSTS})\b")


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


@pytest.mark.parametrize(
    "pattern", [MACHINE_PATH, REGISTRY], ids=["machine path", "package registry"]
)
def test_no_file_names_a_place_of_one_machine(pattern):
    found = [
        f"{repo.name(path)}: {match.group()}"
        for path in repo.files()
        if not path.is_relative_to(repo.ROOT / "tests" / "data")
        for match in pattern.finditer(text_of(path) or "")
    ]
    assert found == []


def test_patterns_find_what_they_are_for():
    assert MACHINE_PATH.search("see /" + "home/alice/x")
    assert not MACHINE_PATH.search("python/" + "work/x")
    assert REGISTRY.search("https://pypi" + ".org/simple")


def test_each_source_names_its_licence():
    missing = [
        repo.name(path)
        for path in repo.files()
        if (path.suffix in NEEDS_LICENCE or path.name in ("Makefile", "CMakeLists.txt"))
        and not path.is_relative_to(repo.ROOT / "tests" / "data")
        and SPDX not in "".join((text_of(path) or "").splitlines(keepends=True)[:3])
    ]
    assert missing == []


def test_text_ends_with_a_newline_and_has_no_trailing_space():
    wrong = [
        repo.name(path)
        for path in repo.files()
        if path.suffix in NEEDS_LICENCE | {".md"}
        for text in [text_of(path) or "\n"]
        if not text.endswith("\n") or re.search(r"[ \t]$", text, re.MULTILINE)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("folder", "suffix", "call"),
    [("tests/c", "_test.c", "aero_test"), ("tests/fuzz", "_fuzz.c", "aero_fuzz")],
)
def test_each_c_test_is_registered(folder, suffix, call):
    lists = [p for p in repo.files() if p.name == "CMakeLists.txt"]
    registered = {
        argument
        for path in lists
        for argument in re.findall(rf"{call}\(\s*([\w/]+)", path.read_text())
    }
    names = [
        path.relative_to(repo.ROOT / folder).as_posix().removesuffix(suffix)
        for path in repo.sources(folder, ".c")
        if path.name.endswith(suffix)
    ]
    assert [name for name in names if name not in registered] == []
