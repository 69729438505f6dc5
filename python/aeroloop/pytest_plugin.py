# SPDX-License-Identifier: Apache-2.0
"""pytest plugin: a development server for the session.

    def test_put(aerospike_devserver):
        client = aeroloop.client({"hosts": aerospike_devserver.hosts}).connect()

Under pytest-xdist each worker is a session of its own and has its own server, on free
ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .devserver import DevServer


@pytest.fixture(scope="session")
def aerospike_devserver() -> Iterator[DevServer]:
    """A `DevServer` with one node, namespaces `test` and `bar`, on a free port."""
    from .devserver import DevServer

    with DevServer() as server:
        yield server
