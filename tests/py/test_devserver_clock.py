# SPDX-License-Identifier: Apache-2.0
"""The server's clock, moved forward by tests of times to live."""

from __future__ import annotations

import random
import time

import pytest

from aeroloop.devserver import DevServer, DevServerError
from support import devwire
from support.devwire import EPOCH, NOT_FOUND, OK, Wire

HOUR = 3600
YEAR = 365 * 86400


@pytest.fixture
def server():
    with DevServer(nodes=2) as running:
        yield running
    assert running.returncode == 0


@pytest.fixture
def wire(server):
    with Wire(server.hosts[0]) as connection:
        yield connection


def numbers(server, node, namespace="test"):
    text = server.info(f"namespace/{namespace}", node)
    return dict(part.split("=") for part in text.split(";"))


def test_records_expire_when_their_time_has_come(server, wire):
    rng = random.Random(1)
    short, long, never = ([rng.randbytes(20) for _ in range(100)] for _ in range(3))
    for digests, ttl in ((short, HOUR), (long, 3 * HOUR), (never, 0xFFFFFFFF)):
        for digest in digests:
            assert wire.one(devwire.put(digest, {"a": 1}, ttl=ttl)).result == OK
    server.advance_clock(HOUR - 60)
    for digest in short + long + never:
        assert wire.one(devwire.get(digest)).result == OK
    server.advance_clock(2 * HOUR)
    for digest in short:
        assert wire.one(devwire.get(digest)).result == NOT_FOUND
    for digest in long + never:
        assert wire.one(devwire.get(digest)).result == OK
    # Removed on both nodes, masters and copies.
    assert sum(int(numbers(server, node)["objects"]) for node in range(2)) == 400
    assert (
        sum(int(numbers(server, node)["expired_objects"]) for node in range(2)) == 200
    )
    rows, _ = wire.batch(devwire.batch_get(short + long))
    assert [rows[i].result for i in range(200)] == [NOT_FOUND] * 100 + [OK] * 100


def test_void_times_are_of_the_moved_clock(server, wire):
    digest = random.Random(2).randbytes(20)
    server.advance_clock(YEAR)
    server.advance_clock(0)
    wire.one(devwire.put(digest, {"a": 1}, ttl=HOUR))
    void_time = wire.one(devwire.get(digest)).void_time
    assert abs(void_time - (time.time() - EPOCH + YEAR + HOUR)) < 60
    assert int(numbers(server, 0)["current_time"]) == pytest.approx(
        time.time() - EPOCH + YEAR, abs=60
    )


def test_a_touch_renews_the_life_of_a_record(server, wire):
    digest = random.Random(3).randbytes(20)
    wire.one(devwire.put(digest, {"a": 1}, ttl=HOUR))
    for _ in range(5):
        server.advance_clock(HOUR - 60)
        touch = [devwire.op(devwire.OP_TOUCH)]
        answer = wire.one(
            devwire.request(digest, info2=devwire.WRITE, ops=touch, ttl=HOUR)
        )
        assert answer.result == OK
    server.advance_clock(HOUR + 60)
    assert wire.one(devwire.get(digest)).result == NOT_FOUND
    assert wire.one(devwire.put(digest, {"a": 1})).generation == 1


def test_updates_after_the_move_are_newer_on_all_nodes(server, wire):
    digest = random.Random(4).randbytes(20)
    wire.one(devwire.put(digest, {"a": 1}))
    server.advance_clock(YEAR)
    wire.one(devwire.put(digest, {"a": 2}))
    server.stop_node(0)
    with Wire(server.hosts[1]) as other:
        assert other.one(devwire.get(digest)).generation == 2
        server.start_node(0)
        assert other.info("truncate:namespace=test;set=demo") == ["ok"]
        assert other.one(devwire.get(digest)).result == NOT_FOUND


def test_a_long_time_to_live_at_the_end_of_the_clock(server, wire):
    digest = random.Random(5).randbytes(20)
    server.advance_clock(50 * YEAR)
    wire.one(devwire.put(digest, {"a": 1}, ttl=10 * YEAR))
    assert wire.one(devwire.get(digest)).result == OK
    with pytest.raises(DevServerError, match="50 years"):
        server.advance_clock(1)


@pytest.mark.parametrize(
    "text", ["", "seconds=", "seconds=-1", "seconds=1.5", "second=1"]
)
def test_bad_times(server, text):
    assert server.info(f"aeroloop-clock-advance:{text}").startswith("ERROR:4:")
    with pytest.raises(DevServerError):
        server.advance_clock(2**63)
