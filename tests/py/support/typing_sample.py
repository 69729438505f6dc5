# SPDX-License-Identifier: Apache-2.0
"""A program whose types are checked by mypy --strict; it is not run."""

import asyncio

import numpy as np

import aeroloop
from aeroloop import Record


def sync() -> int:
    client = aeroloop.client({"hosts": [("127.0.0.1", 3000)]}).connect()
    with client:
        client.put(("test", "demo", "k"), {"a": 1}, policy={"total_timeout": 100})
        record: Record = client.get(("test", "demo", "k"))
        assert record.meta is not None
        batch = client.batch_read([("test", "demo", 1)], policy={"max_retries": 1})
        array = batch.to_numpy(np.dtype([("a", "f4")]), validity=True)
        print(array.validity, array.batch_records["a"])
        return record.meta.gen + aeroloop.POLICY_GEN_EQ


async def asynchronous() -> Record:
    client = await aeroloop.AsyncClient({"hosts": [("127.0.0.1", 3000)]}).connect()
    async with client as same:
        first, second = await asyncio.gather(
            same.get(("test", "demo", 1)), same.exists(("test", "demo", 1))
        )
        task = asyncio.create_task(same.get(("test", "demo", 1)))
        print(first.bins, second.meta, await asyncio.wait_for(task, 1))
        try:
            return await same.get(("test", "demo", b"x"))
        except aeroloop.RecordNotFound as error:
            raise RuntimeError(error.code) from None
