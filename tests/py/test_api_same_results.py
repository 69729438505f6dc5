# SPDX-License-Identifier: Apache-2.0
"""What only changes how a read travels: the result is the same with and without."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aeroloop
from aeroloop import RecordNotFound
from aeroloop.devserver import DevServer
from support.clients import AsyncDriver, SyncDriver

SET = ("test", "same")
NAMES = [f"b{i}" for i in range(12)]
BOOLS = [False, True]


@pytest.fixture(scope="module", params=[1, 3], ids=["1-node", "3-nodes"])
def server(request):
    with DevServer(nodes=request.param) as running:
        yield running


@pytest.fixture(scope="module", params=[SyncDriver, AsyncDriver], ids=["sync", "async"])
def db(request, server):
    driver = request.param({"hosts": server.hosts})
    for i in range(200):
        if i % 9 == 4:
            continue
        bins = {name: [i, name] for k, name in enumerate(NAMES) if (i >> (k % 7)) & 1}
        driver.put((*SET, i), {"i": i, **bins})
    yield driver
    driver.shutdown()


def rows(answer):
    return [
        (record.result, record.key[:3], record.record and record.record[1:])
        for record in answer.batch_records
    ]


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_batch_read(db, data):
    bins = data.draw(
        st.none() | st.lists(st.sampled_from(["i", "nothing", *NAMES]), max_size=14)
    )
    ids = data.draw(st.lists(st.integers(0, 210), max_size=250))
    keys = [(*SET, i) for i in ids]
    plain = db.batch_read(keys, bins, {"allow_split": False, "allow_all_bins": False})
    expected = rows(plain), plain.to_list(), plain.to_dict()
    for split in BOOLS:
        for everything in BOOLS:
            policy = {"allow_split": split, "allow_all_bins": everything}
            other = db.batch_read(keys, bins, policy)
            assert (rows(other), other.to_list(), other.to_dict()) == expected
    if bins is not None:
        allowed = set(bins)
        assert all(row is None or set(row) <= allowed for row in expected[1])


def test_large_batches(db):
    keys = [(*SET, i % 210) for i in range(6000)]
    for bins in (None, ["i"], [*NAMES[:10], "i"]):
        plain = db.batch_read(
            keys, bins, {"allow_split": False, "allow_all_bins": False}
        ).to_list()
        for _ in range(4):
            policy = {"allow_split": True, "allow_all_bins": True}
            assert db.batch_read(keys, bins, policy).to_list() == plain


async def outcomes(client, calls, policy):
    async def one(name, *args):
        try:
            return await getattr(client, name)(*args, policy=policy)
        except RecordNotFound as error:
            return (type(error), error.code, error.in_doubt)

    return await asyncio.gather(*(one(*call) for call in calls))


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    calls=st.lists(
        st.tuples(st.just("get"), st.integers(0, 210).map(lambda i: (*SET, i)))
        | st.tuples(st.just("exists"), st.integers(0, 210).map(lambda i: (*SET, i)))
        | st.tuples(
            st.just("select"),
            st.integers(0, 210).map(lambda i: (*SET, i)),
            st.lists(st.sampled_from(["i", "nothing", *NAMES]), max_size=5),
        ),
        max_size=80,
    )
)
def test_auto_batch(server, db, calls):
    if isinstance(db, SyncDriver):
        for name, *args in calls[:10]:
            seen = []
            for policy in (None, {"auto_batch": False}, {"auto_batch": True}):
                try:
                    seen.append(getattr(db, name)(*args, policy=policy))
                except RecordNotFound as error:
                    seen.append((type(error), error.code, error.in_doubt))
            assert seen[0] == seen[1] == seen[2]
        return
    run = db.loop.run_until_complete
    plain = run(outcomes(db.client, calls, {"auto_batch": False}))
    assert run(outcomes(db.client, calls, {"auto_batch": True})) == plain
    assert run(outcomes(db.client, calls, None)) == plain


@pytest.mark.parametrize("default", [None, False, True])
@pytest.mark.parametrize("policy", [None, False, True])
def test_auto_batch_of_the_config(server, db, default, policy):
    config = {"hosts": server.hosts}
    if default is not None:
        config["auto_batch"] = default
    calls = [
        call
        for i in range(200)
        for call in [
            ("get", (*SET, i)),
            ("exists", (*SET, i)),
            ("select", (*SET, i), ["i"]),
            ("select", (*SET, i), []),
        ]
    ]

    async def main():
        async with aeroloop.AsyncClient(config) as client:
            await client.connect()
            return await outcomes(
                client, calls, None if policy is None else {"auto_batch": policy}
            )

    got = asyncio.run(main())
    for (name, key, *_), result in zip(calls, got, strict=True):
        i = key[2]
        if i % 9 == 4:
            assert result == (RecordNotFound, 2, False) or result.meta is None
        else:
            assert result.key[:3] == key
            if name == "get":
                assert result.bins == db.get(key).bins
            elif name == "select":
                assert result.bins in ({"i": i}, {})


@pytest.mark.parametrize("name", ["allow_split", "allow_all_bins", "auto_batch"])
def test_only_bools(server, db, name):
    for bad in (1, 0, None, "yes"):
        with pytest.raises(TypeError, match=f"'{name}' must be a bool"):
            db.get((*SET, 1), {name: bad})
        with pytest.raises(TypeError, match=f"'{name}' must be a bool"):
            db.batch_read([(*SET, 1)], None, {name: bad})
    with pytest.raises(TypeError, match="'auto_batch' must be a bool"):
        aeroloop.client({"hosts": server.hosts, "auto_batch": 1}).connect()
