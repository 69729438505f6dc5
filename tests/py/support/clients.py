# SPDX-License-Identifier: Apache-2.0
"""Drivers that call a sync and an async client in the same way."""

from __future__ import annotations

import asyncio

import aeroloop


class Driver:
    """`driver.name(...)` calls the method of the client and gives its result."""

    def __init__(self, client):
        self.client = client

    def __getattr__(self, name):
        method = getattr(self.client, name)
        return lambda *args, **kwargs: self.finish(method, args, kwargs)

    def finish(self, method, args, kwargs):
        raise NotImplementedError

    def shutdown(self):
        self.close()


class SyncDriver(Driver):
    kind = "sync"

    def __init__(self, config, connect=True):
        super().__init__(aeroloop.Client(config))
        if connect:
            assert self.connect() is self.client

    def finish(self, method, args, kwargs):
        return method(*args, **kwargs)


class AsyncDriver(Driver):
    kind = "async"

    def __init__(self, config, connect=True):
        super().__init__(aeroloop.AsyncClient(config))
        self.loop = asyncio.new_event_loop()
        if connect:
            assert self.connect() is self.client

    def finish(self, method, args, kwargs):
        async def call():
            result = method(*args, **kwargs)
            return await result if hasattr(result, "__await__") else result

        return self.loop.run_until_complete(call())

    def shutdown(self):
        super().shutdown()
        self.loop.close()
