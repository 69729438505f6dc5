# SPDX-License-Identifier: Apache-2.0
"""The exception tree (section 18 of the API)."""

import builtins
import copy
import pickle
import socket
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import aeroloop
from aeroloop import exception

TREE = {
    "AerospikeError": "Exception",
    "ClientError": "AerospikeError",
    "BackpressureError": "ClientError",
    "RustPanicError": "ClientError",
    "ServerError": "AerospikeError",
    "AerospikeIndexError": "ServerError",
    "IndexNotFound": "AerospikeIndexError",
    "IndexFoundError": "AerospikeIndexError",
    "QueryError": "ServerError",
    "QueryAbortedError": "QueryError",
    "AdminError": "ServerError",
    "UDFError": "ServerError",
    "RecordError": "AerospikeError",
    "RecordNotFound": "RecordError",
    "RecordExistsError": "RecordError",
    "RecordGenerationError": "RecordError",
    "RecordTooBig": "RecordError",
    "BinNameError": "RecordError",
    "BinExistsError": "RecordError",
    "BinNotFound": "RecordError",
    "BinTypeError": "RecordError",
    "FilteredOut": "RecordError",
    "ClusterError": "AerospikeError",
    "AerospikeTimeoutError": "AerospikeError",
    "InvalidArgError": "AerospikeError",
}


def test_tree():
    assert sorted(exception.__all__) == sorted(TREE)
    for name, base in TREE.items():
        cls = getattr(aeroloop, name)
        assert cls is getattr(exception, name)
        assert cls.__bases__[0].__name__ == base
        assert name in aeroloop.__all__
    for other in ["RecordError", "ClusterError", "InvalidArgError"]:
        assert not issubclass(getattr(aeroloop, other), aeroloop.ServerError)


def test_aliases():
    assert aeroloop.TimeoutError is aeroloop.AerospikeTimeoutError
    assert aeroloop.IndexError is aeroloop.AerospikeIndexError
    assert issubclass(aeroloop.AerospikeTimeoutError, builtins.TimeoutError)
    with pytest.warns(DeprecationWarning, match="AerospikeTimeoutError"):
        assert exception.TimeoutError is aeroloop.AerospikeTimeoutError
    with pytest.warns(DeprecationWarning, match="AerospikeIndexError"):
        assert exception.IndexError is aeroloop.AerospikeIndexError
    with pytest.raises(AttributeError):
        exception.Nothing  # noqa: B018


def make(cls):
    error = cls("AEROSPIKE_ERR (9): text")
    error.result_code = 9
    error.in_doubt = True
    error.node = "A1"
    error.attempts = 3
    error.__cause__ = ValueError("cause")
    return error


def attributes(error):
    return (
        type(error),
        error.args,
        str(error),
        error.result_code,
        error.code,
        error.in_doubt,
        error.node,
        error.attempts,
        repr(error.__cause__),
    )


@pytest.mark.parametrize("name", TREE)
def test_pickle_and_copy(name):
    error = make(getattr(aeroloop, name))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(error, protocol))
        assert attributes(again) == attributes(error)
    assert attributes(copy.copy(error)) == attributes(error)
    assert attributes(copy.deepcopy(error)) == attributes(error)
    plain = getattr(aeroloop, name)("x")
    assert plain.result_code == -1
    assert plain.in_doubt is False
    assert plain.node is None
    assert plain.attempts == 0


def raise_in_process(name):
    raise make(getattr(aeroloop, name))


def test_through_a_process_pool():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for name in ["RecordNotFound", "AerospikeTimeoutError", "AdminError"]:
            error = pool.submit(raise_in_process, name).exception()
            assert (
                attributes(error)[:-1] == attributes(make(getattr(aeroloop, name)))[:-1]
            )


def test_errors_of_real_calls_are_pickled(db, key):
    errors = []
    for call in [
        lambda: db.get(key),
        lambda: db.put((*key[:2], "x" * 10), {"a": 1}, {"gen": 5}),
        lambda: db.get(("nowhere", "api", 1), {"total_timeout": 300}),
        lambda: db.get(("n" * 40, "api", 1)),
    ]:
        with pytest.raises(aeroloop.AerospikeError) as caught:
            call()
        errors.append(caught.value)
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert attributes(again) == attributes(error)
    assert [type(e) for e in errors[:1]] == [aeroloop.RecordNotFound]
    assert errors[0].result_code == aeroloop.AEROSPIKE_ERR_RECORD_NOT_FOUND
    assert type(errors[3]) is aeroloop.InvalidArgError
    assert errors[3].result_code == -1


def test_cluster_error_names_the_seed():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        with pytest.raises(aeroloop.ClusterError) as caught:
            aeroloop.client({"hosts": [("127.0.0.1", port)], "timeout": 300}).connect()
    assert str(caught.value).startswith(
        "Connection error: Failed to connect to host(s)."
    )
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert caught.value.result_code == -1
