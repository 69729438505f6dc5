# SPDX-License-Identifier: Apache-2.0
"""Store 10,000 records, read them in batches, and classify digits from the store.

Runs against a development cluster of its own, or against the cluster that
AEROSPIKE_HOST and AEROSPIKE_PORT name; there it removes its records at the end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import aeroloop
import batches
import data
import terminal
from aeroloop.devserver import DevServer

CHUNK = 250  # records stored at a time

Hosts = list[tuple[str, int]]


@contextlib.contextmanager
def cluster() -> Iterator[tuple[Hosts, bool]]:
    """Give the seeds of a cluster, and whether it is our own."""
    host = os.environ.get("AEROSPIKE_HOST")
    if host:
        yield [(host, int(os.environ.get("AEROSPIKE_PORT") or 3000))], False
    else:
        with DevServer(nodes=3) as server:
            yield list(server.hosts), True


def seed(
    client: aeroloop.AsyncClient,
    loop: asyncio.AbstractEventLoop,
    records: list[dict[str, Any]],
) -> None:
    async def put_all(step: range) -> None:
        keys = data.keys(step.start, step.stop)
        pairs = zip(keys, records[step.start : step.stop], strict=True)
        await asyncio.gather(*(client.put(key, bins) for key, bins in pairs))

    for step in terminal.progress(steps(), data.COUNT, "records stored"):
        loop.run_until_complete(put_all(step))


def remove(client: aeroloop.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
    async def remove_all(step: range) -> None:
        keys = data.keys(step.start, step.stop)
        await asyncio.gather(*map(client.remove, keys))

    for step in terminal.progress(steps(), data.COUNT, "records removed"):
        loop.run_until_complete(remove_all(step))


def steps() -> list[range]:
    starts = range(0, data.COUNT, CHUNK)
    return [range(start, min(start + CHUNK, data.COUNT)) for start in starts]


def run(hosts: Hosts, own: bool, options: argparse.Namespace) -> None:
    config = {"hosts": hosts}
    loop = asyncio.new_event_loop()
    client = aeroloop.client(config).connect()
    async_client = loop.run_until_complete(aeroloop.AsyncClient(config).connect())
    nodes = ", ".join(client.get_node_names())
    whose = "a development cluster of our own" if own else f"{hosts[0][0]}"
    terminal.heading(f"Connected to {whose}: {nodes}")

    rows = data.rows()
    terminal.heading(f"Storing {len(rows):,} records of {len(rows.dtype.names)} bins")
    seed(async_client, loop, [data.bins(row) for row in rows])

    ways = [batches.Sync(client), batches.Async(async_client, loop)]
    terminal.heading("Reading them back, into dicts and into NumPy arrays")
    for how in ways:
        values = batches.check(how, rows)
        terminal.line(f"{how.name}: {values:,} values read, all as they were stored")
    terminal.heading("Rates")
    batches.show(ways, options.seconds)

    if not options.no_digits:
        import digits

        terminal.heading("Classifying handwritten digits from the store")
        digits.show(client)

    if not own:
        terminal.heading("Cleaning up")
        remove(async_client, loop)
        if not options.no_digits:
            digits.remove(client)
    loop.run_until_complete(async_client.close())
    client.close()
    loop.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="time for each line of the table"
    )
    parser.add_argument(
        "--no-digits", action="store_true", help="leave out the part with scikit-learn"
    )
    options = parser.parse_args()
    start = time.monotonic()
    with cluster() as (hosts, own):
        run(hosts, own, options)
    terminal.heading(f"Done in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
