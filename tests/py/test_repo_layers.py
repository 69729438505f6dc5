# SPDX-License-Identifier: Apache-2.0
"""Folders include only from their own folder or from those below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import repo

LAYERS = {
    "base": set(),
    "wire": {"base"},
    "column": {"base", "wire"},
    "loop": {"base", "wire"},
    "cluster": {"base", "wire", "loop"},
    "command": {"base", "wire", "loop", "cluster"},
    "client": {"base", "wire", "loop", "cluster", "command"},
    "devserver": {"base", "wire", "loop"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]+>|"[^"]+")', re.MULTILINE)


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8"))


def quoted(path: Path) -> list[str]:
    return [text.strip('"') for text in includes(path) if text.startswith('"')]


def test_every_folder_of_src_is_a_known_layer():
    folders = {p.relative_to(repo.ROOT / "src").parts[0] for p in c_sources("src")}
    assert folders <= set(LAYERS)
    assert len(folders) > 1


def c_sources(folder: str) -> list[Path]:
    return repo.sources(folder, ".c", ".h")


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_includes_only_what_lies_below(layer):
    allowed = LAYERS[layer] | {layer}
    wrong = [
        f"{repo.name(path)}: {text}"
        for path in c_sources(f"src/{layer}")
        for text in quoted(path)
        if text.split("/")[0] not in allowed or not (repo.ROOT / "src" / text).is_file()
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("header", "home"), [("uv.h", "src/loop"), ("Python.h", "python/ext")]
)
def test_foreign_header_has_one_home(header, home):
    wrong = [
        repo.name(path)
        for folder in ("include", "src", "python", "examples")
        for path in c_sources(folder)
        if not path.is_relative_to(repo.ROOT / home)
        and any(text in (f"<{header}>", f'"{header}"') for text in includes(path))
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", ["python/ext", "examples"])
def test_users_of_the_library_see_only_its_public_headers(folder):
    wrong = [
        f"{repo.name(path)}: {text}"
        for path in c_sources(folder)
        for text in quoted(path)
        if not (path.parent / text).resolve().is_relative_to(repo.ROOT / folder)
        or not (path.parent / text).is_file()
    ]
    assert wrong == []


def test_public_headers_include_only_each_other_and_the_c_library():
    standard = {"<stdbool.h>", "<stddef.h>", "<stdint.h>"}
    wrong = [
        f"{repo.name(path)}: {text}"
        for path in c_sources("include")
        for text in includes(path)
        if text not in standard and not text.startswith("<aeroloop/")
    ]
    assert wrong == []
