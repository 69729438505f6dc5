# SPDX-License-Identifier: Apache-2.0
"""Measure aeroloop beside its peers: python bench/micro --programs FOLDER.

Starts a development server with one node, or uses AEROSPIKE_HOST and AEROSPIKE_PORT.
Writes the samples and the page to the output folder and prints the goals and what came
out. Its status tells whether all was measured, not whether a goal was reached."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aeroloop
import cases
import fleet
import machine
import measure
import records
import report
import still
from aeroloop.devserver import DevServer

HERE = Path(__file__).parent


@contextlib.contextmanager
def server() -> Iterator[tuple[fleet.Host, str]]:
    host = os.environ.get("AEROSPIKE_HOST")
    if host:
        yield (host, int(os.environ.get("AEROSPIKE_PORT") or 3000)), "a real one"
    else:
        with DevServer(nodes=1) as dev:
            yield tuple(dev.hosts[0]), "`aeroloop-devserver`, one node"


def seed(host: fleet.Host) -> None:
    client = aeroloop.client({"hosts": [host]}).connect()
    measure.seed(client.put)
    client.close()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--programs",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="where floor_bench and fill_bench are",
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, default=HERE.parent / "results")
    parser.add_argument(
        "--only",
        default="",
        metavar="TEXT",
        help="only the cases that have this in `mode: title`",
    )
    parser.add_argument(
        "--tiny",
        action="store_true",
        help="as few calls as possible: does it run at all?",
    )
    return parser.parse_args()


def measure_clients(args: argparse.Namespace) -> dict[str, Any]:
    chosen = [c for c in cases.ALL if args.only in f"{c.mode}: {c.title}"]
    with server() as (host, what):
        seed(host)
        with fleet.Fleet(host, args.programs / "floor_bench") as contenders:
            count = measure.check_equal(contenders)
            measure.say(f"{count} clients read the same {records.COUNT:,} records")
            run = measure.Run(contenders, chosen, args.tiny)
            run.warm()
            for number in range(args.rounds):
                run.round(number, args.rounds)
            return {
                "server": what,
                "records": records.COUNT,
                "versions": contenders.versions,
                "missing": contenders.missing,
                "failures": run.failures,
                "cases": run.results(),
            }


def main() -> None:
    args = arguments()
    load = machine.load()
    results = {
        "machine": machine.facts(),
        "load": load,
        "rounds": args.rounds,
        **measure_clients(args),
        "import": still.import_times(args.rounds),
        "sizes": still.sizes(),
        "fill": still.fill_lines(args.programs / "fill_bench", args.rounds * 5),
    }
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "micro.json").write_text(json.dumps(results))
    notes = (HERE / "notes.md").read_text()
    (args.out / "micro.md").write_text(report.page(results, notes))
    print(report.summary(results))
    print(f"\nThe page: {args.out / 'micro.md'}")


if __name__ == "__main__":
    main()
