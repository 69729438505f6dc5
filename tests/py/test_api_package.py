# SPDX-License-Identifier: Apache-2.0
"""The package: names, laziness, types."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import aeroloop

SAMPLE = Path(__file__).parent / "support" / "typing_sample.py"


def run(*args, **kwargs):
    return subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        **kwargs,
    )


def test_all_names_exist():
    assert len(set(aeroloop.__all__)) == len(aeroloop.__all__)
    for name in aeroloop.__all__:
        getattr(aeroloop, name)
    assert set(aeroloop.__all__) <= set(dir(aeroloop))
    with pytest.raises(AttributeError):
        aeroloop.NOTHING  # noqa: B018
    with pytest.raises(AttributeError):
        aeroloop.nothing  # noqa: B018
    assert isinstance(aeroloop.__version__, str)
    assert aeroloop.exception.RecordNotFound is aeroloop.RecordNotFound


def test_star_import():
    namespace = {}
    exec("from aeroloop import *", namespace)
    assert set(aeroloop.__all__) <= set(namespace)


def test_import_loads_little():
    code = (
        "import sys; before = set(sys.modules); import aeroloop; "
        "print(sorted(set(sys.modules) - before))"
    )
    assert run("-c", code).stdout == "['aeroloop']\n"


def test_works_without_the_extension():
    code = (
        "import sys; sys.modules['aeroloop._core'] = None; import aeroloop; "
        "print(aeroloop.POLICY_KEY_SEND, aeroloop.RecordNotFound.__name__); "
        "import aeroloop.types"
    )
    result = run("-c", code)
    assert result.stdout == "1 RecordNotFound\n", result.stderr


def test_reloading_makes_a_module_of_its_own():
    """Nothing is shared by two copies of the extension but the code."""
    code = """
import importlib, sys, gc
import aeroloop._core as first
del sys.modules["aeroloop._core"]
second = importlib.import_module("aeroloop._core")
assert first is not second and first.Client is not second.Client
del first, second, sys.modules["aeroloop._core"]
sys.modules["aeroloop"].__dict__.pop("_core", None)
gc.collect()
import aeroloop._core
print(aeroloop._core.Client({}).is_connected())
"""
    result = run("-X", "dev", "-c", code)
    assert (result.stdout, result.stderr) == ("False\n", "")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs an isolated interpreter")
def test_subinterpreter(hosts):
    code = f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
one = interpreters.create()
interpreters.run_string(one, '''
import aeroloop
c = aeroloop.client({{"hosts": {hosts!r}}}).connect()
c.put(("test", "sub", 1), {{"a": 1}})
assert c.get(("test", "sub", 1)).bins == {{"a": 1}}
print("inside", flush=True)
''')
interpreters.destroy(one)
import aeroloop
c = aeroloop.client({{"hosts": {hosts!r}}}).connect()
print(c.get(("test", "sub", 1)).bins)
"""
    result = run("-c", code)
    assert (result.stdout, result.stderr) == ("inside\n{'a': 1}\n", "")


def test_signatures():
    import inspect

    for cls in [aeroloop.Client, aeroloop.AsyncClient]:
        assert str(inspect.signature(cls)) == "(config)"
        assert (
            str(inspect.signature(cls.put))
            == "(self, /, key, bins, meta=None, policy=None)"
        )
        assert (
            str(inspect.signature(cls.touch))
            == "(self, /, key, val=0, meta=None, policy=None)"
        )
        assert cls.__module__ == "aeroloop"
        assert cls.get.__doc__


needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy is not installed"
)


@needs_mypy
def test_stubs_agree_with_the_extension(tmp_path):
    result = run("-m", "mypy.stubtest", "aeroloop", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@needs_mypy
def test_a_program_passes_mypy_strict(tmp_path):
    result = run("-m", "mypy", "--strict", str(SAMPLE), cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_modules_of_the_peer():
    from aeroloop import _aerospike, _async_client, _client

    assert _client.Client is aeroloop.Client
    assert _async_client.AsyncClient is aeroloop.AsyncClient
    constants = {name for name in aeroloop.__all__ if name.isupper()}
    assert len(constants) == 171
    for name in [*constants, *aeroloop.exception.__all__, "Client", "AsyncClient"]:
        assert getattr(_aerospike, name) is getattr(aeroloop, name)
    assert _aerospike.TimeoutError is aeroloop.TimeoutError
    assert _aerospike.BatchRecord is aeroloop._core.BatchRecord
