# SPDX-License-Identifier: Apache-2.0
"""A service that keeps feature vectors of users and scores many of them at once.

    AEROSPIKE_HOST=127.0.0.1 uvicorn app:app

The client lives as long as the application: it is connected before the first request
and closed after the last. Workers that fork, as gunicorn's do, run it each."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import numpy as np
from fastapi import Body, FastAPI, HTTPException, Request

import aeroloop

FEATURES = [f"f{column}" for column in range(8)]
DTYPE = np.dtype([(name, "<f4") for name in FEATURES])
WEIGHTS = np.linspace(1, 2, len(FEATURES), dtype=np.float32)

Vector = Annotated[list[float], Body(min_length=8, max_length=8)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    host = os.environ.get("AEROSPIKE_HOST", "127.0.0.1")
    port = int(os.environ.get("AEROSPIKE_PORT", "3000"))
    config = {"hosts": [(host, port)], "max_conns_per_node": 64}
    app.state.client = await aeroloop.AsyncClient(config).connect()
    yield
    await app.state.client.close()


app = FastAPI(lifespan=lifespan)


def client_of(request: Request) -> aeroloop.AsyncClient:
    client: aeroloop.AsyncClient = request.app.state.client
    return client


def key(user: int) -> tuple[str, str, int]:
    return ("test", "users", user)


@app.put("/users/{user}", status_code=204)
async def store(request: Request, user: int, features: Vector) -> None:
    bins = dict(zip(FEATURES, features, strict=True))
    await client_of(request).put(key(user), bins)


@app.get("/users/{user}")
async def read(request: Request, user: int) -> dict[str, float]:
    try:
        return dict((await client_of(request).get(key(user))).bins)
    except aeroloop.RecordNotFound:
        raise HTTPException(404, f"no user {user}") from None


@app.post("/scores")
async def scores(request: Request, users: list[int]) -> dict[int, float | None]:
    """Score users in one batch read; None for those that are not stored."""
    batch = await client_of(request).batch_read([key(user) for user in users])
    answer = batch.to_numpy(DTYPE)
    matrix = answer.batch_records.view(np.float32).reshape(-1, len(FEATURES))
    each = zip(users, matrix @ WEIGHTS, answer.result_codes, strict=True)
    return {user: float(score) if code == 0 else None for user, score, code in each}
