# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the client: one suite runs sync and async."""

from __future__ import annotations

import itertools

import pytest

from support.clients import AsyncDriver, Driver, SyncDriver


@pytest.fixture(scope="session")
def hosts(aerospike_devserver):
    return [tuple(host) for host in aerospike_devserver.hosts]


@pytest.fixture(scope="session")
def sync_db(hosts):
    driver = SyncDriver({"hosts": hosts})
    yield driver
    driver.shutdown()


@pytest.fixture(scope="session")
def async_db(hosts):
    driver = AsyncDriver({"hosts": hosts})
    yield driver
    driver.shutdown()


@pytest.fixture(params=["sync", "async"])
def db(request) -> Driver:
    """A connected client of each kind; `db.get(...)` gives the result of both."""
    return request.getfixturevalue(f"{request.param}_db")


@pytest.fixture(scope="session")
def client(sync_db):
    return sync_db.client


_numbers = itertools.count()


@pytest.fixture
def key(request):
    """A key that no other test uses."""
    return ("test", "api", f"{request.node.name[:40]}-{next(_numbers)}")
