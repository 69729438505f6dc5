# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: a development server for the session.

    def test_put(aerospike_devserver):
        client = aeroloop.client({"hosts": aerospike_devserver.hosts}).connect()

    def test_slow_node(aerospike_faults):
        aerospike_faults("delay", command="read", ms=200)

Under pytest-xdist each worker is a session of its own and has its own server, on free
ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .devserver import DevServer, Fault


@pytest.fixture(scope="session")
def aerospike_devserver() -> Iterator[DevServer]:
    """A `DevServer` with one node, namespaces `test` and `bar`, on a free port."""
    from .devserver import DevServer

    with DevServer() as server:
        yield server


@pytest.fixture
def aerospike_faults(aerospike_devserver: DevServer) -> Iterator[Callable[..., Fault]]:
    """`DevServer.fault` of the session's server; faults end with the test."""
    yield aerospike_devserver.fault
    aerospike_devserver.clear_faults()
