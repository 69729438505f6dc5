# SPDX-License-Identifier: Apache-2.0
"""One adapter a client: the same works, in each client's own words.

Keys are made before the clock runs, in the form that the client takes. Each form of a
result includes all that a caller must do to have it: a count of the records found, a
dict of bins by user key, or a matrix of 64 32-bit floats a record. A client without
asyncio calls its blocking self in a thread, as a program would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

import records

DTYPE = np.dtype([(name, "<f4") for name in records.FLOATS])
all_floats = itemgetter(*records.FLOATS)

Host = tuple[str, int]


class Client:
    """What the adapters share; `connect` sets the three calls."""

    read: Callable[[list[Any]], Any]
    get: Callable[[Any], Any]
    put: Callable[[Any, dict[str, Any]], Any]

    def connect(self, host: Host) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def key(self, number: int, set_name: str = records.SET) -> Any:
        return (records.NAMESPACE, set_name, number)

    def bins_of(self, record: Any) -> dict[str, Any]:
        """Of what `get` gave."""
        raise NotImplementedError

    def found(self, result: Any) -> int:
        raise NotImplementedError

    def dicts(self, result: Any) -> dict[int, dict[str, Any]]:
        raise NotImplementedError

    def matrix(self, result: Any) -> np.ndarray:
        raise NotImplementedError


class AsyncClient(Client):
    """An adapter whose calls give awaitables."""

    async def connect_async(self, host: Host) -> None:
        raise NotImplementedError

    async def close_async(self) -> None:
        raise NotImplementedError


class LazyForms(Client):
    """Clients with the lazy batch records of aerospike_py."""

    def bins_of(self, record: Any) -> dict[str, Any]:
        return record.bins  # type: ignore[no-any-return]

    def found(self, result: Any) -> int:
        return result.found_count()  # type: ignore[no-any-return]

    def dicts(self, result: Any) -> dict[int, dict[str, Any]]:
        return result.to_dict()  # type: ignore[no-any-return]

    def matrix(self, result: Any) -> np.ndarray:
        rows = result.to_numpy(DTYPE).batch_records
        return rows.view(np.float32).reshape(-1, len(records.FLOATS))


class LazySync(LazyForms):
    def __init__(self, module: Any) -> None:
        self.module = module

    def connect(self, host: Host) -> None:
        self.client = self.module.client({"hosts": [host]}).connect()
        self.read = self.client.batch_read
        self.get = self.client.get
        self.put = self.client.put

    def close(self) -> None:
        self.client.close()


class LazyAsync(LazyForms, AsyncClient):
    def __init__(self, module: Any) -> None:
        self.module = module

    async def connect_async(self, host: Host) -> None:
        self.client = await self.module.AsyncClient({"hosts": [host]}).connect()
        self.read = self.client.batch_read
        self.get = self.client.get
        self.put = self.client.put

    async def close_async(self) -> None:
        await self.client.close()


class Official(Client):
    """`aerospike`: results are Python objects when the call returns."""

    def connect(self, host: Host) -> None:
        import aerospike

        self.client = aerospike.client({"hosts": [host]}).connect()
        self.read = self.client.batch_read
        self.get = self.client.get
        self.put = self.client.put

    def close(self) -> None:
        self.client.close()

    def bins_of(self, record: Any) -> dict[str, Any]:
        return record[2]  # type: ignore[no-any-return]

    def found(self, result: Any) -> int:
        return sum(each.result == 0 for each in result.batch_records)

    def dicts(self, result: Any) -> dict[int, dict[str, Any]]:
        return {each.key[2]: each.record[2] for each in result.batch_records}

    def matrix(self, result: Any) -> np.ndarray:
        rows = [all_floats(each.record[2]) for each in result.batch_records]
        return np.array(rows, np.float32)


class OfficialAsync(Official, AsyncClient):
    """It has no asyncio of its own: each call runs in a thread of the default pool."""

    async def connect_async(self, host: Host) -> None:
        Official.connect(self, host)
        client = self.client
        self.read = lambda keys: asyncio.to_thread(client.batch_read, keys)
        self.get = lambda key: asyncio.to_thread(client.get, key)
        self.put = lambda key, bins: asyncio.to_thread(client.put, key, bins)

    async def close_async(self) -> None:
        self.client.close()


class Native(Client):
    """`aerospike_native`: its keys are objects that hold a digest, its records are
    converted at each access."""

    def connect(self, host: Host) -> None:
        import aerospike_native as native

        self.native = native
        policy = native.ClientPolicy()
        self.client = native.new_client_blocking(policy, "{}:{}".format(*host))
        self.read = self.client.batch_read_blocking
        self.get = self.client.get_blocking
        self.put = self.client.put_blocking

    def close(self) -> None:
        self.client.close_blocking()

    def key(self, number: int, set_name: str = records.SET) -> Any:
        return self.native.Key(records.NAMESPACE, set_name, number)

    def bins_of(self, record: Any) -> dict[str, Any]:
        return record.bins  # type: ignore[no-any-return]

    def found(self, result: Any) -> int:
        ok = self.native.ResultCode.OK
        return sum(each.result_code == ok for each in result)

    def dicts(self, result: Any) -> dict[int, dict[str, Any]]:
        return {each.key.value: each.record.bins for each in result}

    def matrix(self, result: Any) -> np.ndarray:
        rows = [all_floats(each.record.bins) for each in result]
        return np.array(rows, np.float32)


class NativeAsync(Native, AsyncClient):
    async def connect_async(self, host: Host) -> None:
        import aerospike_native as native

        self.native = native
        policy = native.ClientPolicy()
        self.client = await native.new_client(policy, "{}:{}".format(*host))
        self.read = self.client.batch_read
        self.get = self.client.get
        self.put = self.client.put

    async def close_async(self) -> None:
        await self.client.close()


def aeroloop_sync() -> Client:
    import aeroloop

    return LazySync(aeroloop)


def aeroloop_async() -> AsyncClient:
    import aeroloop

    return LazyAsync(aeroloop)


def peer_sync() -> Client:
    import aerospike_py

    return LazySync(aerospike_py)


def peer_async() -> AsyncClient:
    import aerospike_py

    return LazyAsync(aerospike_py)


# The first is measured against the others.
SYNC: dict[str, Callable[[], Client]] = {
    "aeroloop": aeroloop_sync,
    "aerospike": Official,
    "aerospike_py": peer_sync,
    "aerospike_native": Native,
}
ASYNC: dict[str, Callable[[], AsyncClient]] = {
    "aeroloop": aeroloop_async,
    "aerospike": OfficialAsync,
    "aerospike_py": peer_async,
    "aerospike_native": NativeAsync,
}
