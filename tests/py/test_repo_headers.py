# SPDX-License-Identifier: Apache-2.0
"""The public headers: small, and each complete in itself for C11 and for C++."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from support import repo

HEADERS = repo.sources("include", ".h")
LANGUAGES = {
    "c11": ("cc", ["-x", "c", "-std=c11"]),
    "c++17": ("c++", ["-x", "c++", "-std=c++17"]),
}


def test_headers_stay_small():
    lines = sum(len(path.read_text().splitlines()) for path in HEADERS)
    assert 0 < lines < 2000


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("header", HEADERS, ids=lambda path: path.stem)
def test_header_compiles_alone(header, language):
    compiler, options = LANGUAGES[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} on this machine")
    # Twice: the guard must work.
    program = f"#include <aeroloop/{header.name}>\n" * 2 + "int unused_;\n"
    done = subprocess.run(
        [
            compiler,
            *options,
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            f"-I{repo.ROOT / 'include'}",
            "-",
        ],
        input=program,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_umbrella_header_includes_all():
    umbrella = (repo.ROOT / "include/aeroloop/aeroloop.h").read_text()
    # uv.h is for programs with a loop of their own, and is included by them.
    expected = {p.name for p in HEADERS} - {"aeroloop.h", "export.h", "uv.h"}
    assert {n for n in expected if f"<aeroloop/{n}>" not in umbrella} == set()
