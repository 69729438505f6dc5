# SPDX-License-Identifier: Apache-2.0
"""Mistakes with CPython's C API that a compiler does not see."""

import re
from pathlib import Path

import pytest

EXT = Path(__file__).parents[2] / "python" / "ext"
FILES = sorted(EXT.glob("*.[ch]"))
SOURCES = [path for path in FILES if path.suffix == ".c"]

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
FUNCTION = re.compile(r"^(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)


def code(path):
    """The file without comments and texts."""
    text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), path.read_text())
    return TEXT.sub('""', text)


def functions(path):
    return FUNCTION.findall(code(path))


def test_there_is_something_to_look_at():
    assert len(SOURCES) > 15
    assert sum(len(functions(path)) for path in SOURCES) > 200


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_no_global_objects(path):
    """State is per module: no static objects, no static types."""
    for line in code(path).splitlines():
        assert not re.match(r"(static )?PyTypeObject \w+ *[=;]", line), line
        assert not re.match(r"\s*static PyObject \*\w+ *[=;]", line), line
        assert not re.match(r"\s*static aeropy_state \*\w+ *[=;]", line), line


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_forbidden_functions(path):
    """Threads of ours never enter Python; borrowed references from shared dicts are not
    safe without the GIL; formats of PyArg are slow on a hot path."""
    text = code(path)
    for name in [
        "PyGILState_Ensure",
        "Py_AddPendingCall",
        "PyDict_GetItem(",
        "PyDict_GetItemString",
        "PyModule_AddObject(",
        "PyErr_Print",
        "PyEval_AcquireThread",
        "Py_FatalError",
        "PyList_GetItem(",
        "_Py_",
    ]:
        assert name not in text, name
    if path.name != "aeropy.h":
        for name in ["PyErr_Fetch", "PyErr_Restore", "PyDict_GetItemWithError"]:
            assert name not in text, name
    if path.name != "client.c":
        assert "PyArg_Parse" not in text


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_released_gil(path):
    """Between release and return of the GIL there is no way out, and no object."""
    text = code(path)
    blocks = re.findall(
        r"Py_BEGIN_ALLOW_THREADS(.*?)Py_END_ALLOW_THREADS", text, re.DOTALL
    )
    assert text.count("Py_BEGIN_ALLOW_THREADS") == len(blocks)
    assert text.count("Py_END_ALLOW_THREADS") == len(blocks)
    for block in blocks:
        assert not re.search(r"\b(return|goto|break)\b", block), block
        assert not re.search(r"\bPy(Object|List|Dict|Tuple|Err|Unicode)_", block), block


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_critical_sections(path):
    text = code(path)
    blocks = re.findall(
        r"Py_BEGIN_CRITICAL_SECTION\(.*?\);(.*?)Py_END_CRITICAL_SECTION\(\)",
        text,
        re.DOTALL,
    )
    assert text.count("Py_BEGIN_CRITICAL_SECTION(") == len(blocks)
    for block in blocks:
        assert not re.search(r"\b(return|goto)\b", block), block


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_heap_types(path):
    """Objects own a reference of their type: they visit it, and drop it at the end."""
    for name, body in functions(path):
        if name.endswith("_traverse") and name != "module_traverse":
            assert "Py_VISIT(Py_TYPE(self));" in body, name
        if name.endswith("_dealloc"):
            assert "Py_DECREF(type);" in body, name
            assert "PyObject_GC_UnTrack(self);" in body, name
    specs = re.findall(r"PyType_Spec \w+ = \{(.*?)\};", code(path), re.DOTALL)
    for spec in specs:
        assert "Py_TPFLAGS_HAVE_GC" in spec
        if path.name != "client.c":
            assert "Py_TPFLAGS_IMMUTABLETYPE" in spec
            assert "Py_TPFLAGS_DISALLOW_INSTANTIATION" in spec


def test_only_errors_knows_the_exceptions():
    for path in SOURCES:
        if path.name not in {"errors.c", "module.c"}:
            assert "state->exceptions" not in code(path), path.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.name)
def test_functions_are_short(path):
    for name, body in functions(path):
        assert body.count("\n") <= 75, name
