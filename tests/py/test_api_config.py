# SPDX-License-Identifier: Apache-2.0
"""The configuration dict (section 2 of the API), read at connect()."""

import asyncio
import subprocess
import sys
import threading

import pytest

import aeroloop
from aeroloop import ClientError, ClusterError
from support.clients import AsyncDriver, SyncDriver

SHAPES = "a host must be"


@pytest.fixture(params=[SyncDriver, AsyncDriver], ids=["sync", "async"])
def connect(request):
    """connect(config) makes a client, connects it, and closes it."""

    def run(config):
        driver = request.param(config, connect=False)
        try:
            driver.connect()
            return driver.ping()
        finally:
            driver.shutdown()

    return run


@pytest.mark.parametrize(
    ("hosts", "error", "match"),
    [
        ([("127.0.0.1", "3000")], TypeError, "port must be an int"),
        ([("127.0.0.1", True)], TypeError, "port must be an int"),
        ([("127.0.0.1", 3000.0)], TypeError, "port must be an int"),
        ([("127.0.0.1", None)], TypeError, "port must be an int"),
        ([("127.0.0.1", 70000)], OverflowError, "70000"),
        ([("127.0.0.1", -1)], OverflowError, "-1"),
        ([("127.0.0.1", 0)], ValueError, "port 0"),
        ([("127.0.0.1", 2**70)], OverflowError, "port"),
        ([["127.0.0.1", 3000]], TypeError, "Host must be a \\(host, port\\) tuple"),
        ([5], TypeError, "Host must be a \\(host, port\\) tuple or a string"),
        ([None], TypeError, "Host must be"),
        ([(b"127.0.0.1", 3000)], TypeError, "Host must be"),
        ([("127.0.0.1", 3000, "tls")], ValueError, SHAPES),
        ([()], ValueError, SHAPES),
        ([("", 3000)], ValueError, SHAPES),
        ([""], ValueError, SHAPES),
        ([":3000"], ValueError, SHAPES),
        (["127.0.0.1:"], ValueError, "bad port"),
        (["127.0.0.1:x"], ValueError, "bad port"),
        (["127.0.0.1:70000"], ValueError, "bad port"),
        (["127.0.0.1:0"], ValueError, "bad port"),
        (["[::1"], ValueError, "bad address"),
        (["[::1]3000"], ValueError, "bad address"),
        ([("a\0b", 3000)], ValueError, "NUL"),
        ([("\ud800", 3000)], UnicodeEncodeError, "host name"),
        ([("x" * 254, 3000)], ValueError, "253"),
        ("127.0.0.1:3000", TypeError, "'hosts' must be a list"),
        ((("127.0.0.1", 3000),), TypeError, "'hosts' must be a list"),
        (None, TypeError, "'hosts' must be a list"),
        ([], ValueError, "hosts list must not be empty"),
    ],
)
def test_bad_hosts(connect, hosts, error, match):
    with pytest.raises(error, match=match):
        connect({"hosts": hosts})


def test_no_hosts(connect):
    with pytest.raises(ValueError, match="Config must contain 'hosts' key"):
        connect({})


@pytest.mark.parametrize(
    "form",
    [
        lambda host, port: (host, port),
        lambda host, port: f"{host}:{port}",
        lambda host, port: f"[{host}]:{port}",
    ],
)
def test_good_hosts(connect, hosts, form):
    assert connect({"hosts": [form(*hosts[0])]})


def test_a_host_without_port_is_asked_on_3000(connect):
    for host in ["127.0.0.254", ("127.0.0.254",)]:
        with pytest.raises(ClusterError, match=r"127\.0\.0\.254:3000"):
            connect({"hosts": [host], "timeout": 300})


def test_one_dead_host_is_no_error(connect, hosts):
    assert connect({"hosts": [("127.0.0.254", 3999), *hosts]})


@pytest.mark.parametrize("name", ["timeout", "tend_interval", "max_conns_per_node"])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("5", TypeError),
        (None, TypeError),
        (True, TypeError),
        (1.5, TypeError),
        (-1, OverflowError),
        (2**32, OverflowError),
    ],
)
def test_bad_numbers(connect, hosts, name, value, error):
    with pytest.raises(error, match=f"'{name}'"):
        connect({"hosts": hosts, name: value})


def test_good_configuration(connect, hosts):
    assert connect(
        {
            "hosts": hosts,
            "timeout": 5000,
            "idle_timeout": 55,
            "max_conns_per_node": 10,
            "min_conns_per_node": 1,
            "conn_pools_per_node": 4,
            "tend_interval": 500,
            "use_services_alternate": False,
            "cluster_name": None,
            "max_concurrent_operations": 0,
            "operation_queue_timeout_ms": 0,
            "auth_mode": 77,
            "user": None,
            "password": "unused",
            "key_bytes_as": "blob",
            "idle_timeout_ms": 1500,
        }
    )


def test_idle_timeout_in_milliseconds(connect, hosts):
    with pytest.warns(UserWarning, match="idle_timeout is in seconds; 30000"):
        assert connect({"hosts": hosts, "idle_timeout": 30000})
    assert connect({"hosts": hosts, "idle_timeout": 0})
    with pytest.raises(OverflowError):
        connect({"hosts": hosts, "idle_timeout": -1})


def test_pools(connect, hosts):
    with pytest.raises(ClientError, match="minimum number of connections specified"):
        connect({"hosts": hosts, "min_conns_per_node": 5, "max_conns_per_node": 4})
    with pytest.raises(OverflowError):
        connect({"hosts": hosts, "conn_pools_per_node": 256})


def test_unknown_keys(connect, hosts, monkeypatch):
    with pytest.raises(
        ValueError, match="'time_out' in config; did you mean 'timeout'"
    ):
        connect({"hosts": hosts, "time_out": 5})
    with pytest.raises(ValueError, match="'policies' in config"):
        connect({"hosts": hosts, "policies": {}})
    with pytest.raises(ValueError, match="5 in config"):
        connect({"hosts": hosts, 5: 5})
    monkeypatch.setenv("AEROLOOP_UNKNOWN_KEYS", "ignore")
    assert connect({"hosts": hosts, "policies": {}, "time_out": 1})


def test_what_is_not_built_is_refused(connect, hosts):
    with pytest.raises(ClientError, match="not available in this release"):
        connect({"hosts": hosts, "user": "me", "password": "secret"})


def test_operations_wait_for_a_slot(hosts):
    config = {"hosts": hosts, "max_concurrent_operations": 1}

    async def main(config):
        key = ("test", "config", "slot")
        async with await aeroloop.AsyncClient(config).connect() as client:
            await client.put(key, {"a": 1})
            return await asyncio.gather(
                *[client.get(key) for _ in range(2000)], return_exceptions=True
            )

    waited = asyncio.run(main(config))
    assert all(record.bins == {"a": 1} for record in waited)
    config["operation_queue_timeout_ms"] = 1
    results = asyncio.run(main(config))
    refused = [r for r in results if isinstance(r, aeroloop.BackpressureError)]
    assert refused
    assert str(refused[0]) == (
        "Backpressure timeout on 'get' after 1ms: max_concurrent_operations=1 exceeded"
    )
    assert all(r in refused or r.bins == {"a": 1} for r in results)


def test_other_types(connect, hosts):
    for bad in [{"cluster_name": 5}, {"use_services_alternate": 1}]:
        with pytest.raises(TypeError):
            connect({"hosts": hosts, **bad})
    for bad in [
        {"cluster_name": "a\0b"},
        {"key_bytes_as": "text"},
        {"key_bytes_as": 1},
    ]:
        with pytest.raises(ValueError, match=next(iter(bad))):
            connect({"hosts": hosts, **bad})
    for bad in [[], "x", 5, None]:
        with pytest.raises(TypeError, match="config must be a dict"):
            connect(bad)


def test_wrong_cluster_name(connect, hosts):
    with pytest.raises(ClusterError):
        connect({"hosts": hosts, "cluster_name": "another", "timeout": 500})


def test_config_is_read_at_connect(hosts):
    config = {}
    client = aeroloop.client(config)
    with pytest.raises(ValueError, match="hosts"):
        client.connect()
    config["hosts"] = hosts
    with client.connect():
        config.clear()
        assert client.ping()


def run_with_workers(value, hosts, *options):
    script = f"""
import aeroloop, threading, pathlib
c = aeroloop.client({{"hosts": {hosts!r}}}).connect()
print(len(list(pathlib.Path("/proc/self/task").iterdir())) - 1)
"""
    return subprocess.run(
        [sys.executable, *options, "-c", script],
        env={"AEROSPIKE_RUNTIME_WORKERS": value, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )


@pytest.mark.parametrize(
    ("value", "workers"), [("1", 1), ("3", 3), ("0", 1), ("x", 2), ("", 2), ("-1", 2)]
)
def test_workers(hosts, value, workers):
    result = run_with_workers(value, hosts)
    assert result.stderr == ""
    assert workers <= int(result.stdout) <= workers + 1


def test_too_many_workers(hosts):
    result = run_with_workers("100", hosts)
    assert "AEROSPIKE_RUNTIME_WORKERS=100 is more than 32" in result.stderr
    assert 32 <= int(result.stdout) <= 33


def test_importing_starts_no_thread():
    before = threading.active_count()
    script = (
        "import pathlib, aeroloop, aeroloop._core, sys\n"
        "assert 'numpy' not in sys.modules and 'asyncio' not in sys.modules\n"
        "print(len(list(pathlib.Path('/proc/self/task').iterdir())))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert result.stdout == "1\n"
    assert threading.active_count() == before
