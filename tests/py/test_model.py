# SPDX-License-Identifier: Apache-2.0
"""A client against a plain model of records: any commands in any order, sync and async,
on one node and on three."""

import contextlib
import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import aeroloop
from aeroloop import (
    OPERATOR_APPEND,
    OPERATOR_DELETE,
    OPERATOR_INCR,
    OPERATOR_PREPEND,
    OPERATOR_READ,
    OPERATOR_TOUCH,
    OPERATOR_WRITE,
)
from aeroloop.devserver import DevServer
from support.clients import AsyncDriver, SyncDriver

SOAK = os.environ.get("AEROLOOP_SOAK") == "1"
NEVER = 4294967295
LIMIT = 2**63
BINS = ["a", "b", "c", "\u00e9"]

names = st.sampled_from(BINS)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
integers = st.integers(-LIMIT, LIMIT - 1) | st.integers(-5, 5)
floats = st.floats(allow_nan=False)
scalars = st.booleans() | integers | floats | texts | st.binary(max_size=8)
values = st.recursive(
    scalars | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(integers | texts | st.binary(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
).filter(lambda value: value is not None)
user_keys = st.sampled_from([0, 1, "0", "1", b"0", -7, "", b"\0"])
bin_dicts = st.dictionaries(names, values | st.none(), min_size=1, max_size=4)
concatenations = texts | st.binary(max_size=5)
offsets = st.integers(-(2**62), 2**62) | st.floats(-1e100, 1e100)
metas = st.none() | st.fixed_dictionaries({}, optional={"gen": st.integers(1, 4)})
exists_actions = st.sampled_from([None, 0, 1, 2, 3, 4])

ops = st.lists(
    st.one_of(
        st.tuples(st.just(OPERATOR_READ), names | st.none(), st.none()),
        st.tuples(st.just(OPERATOR_WRITE), names, values | st.none()),
        st.tuples(st.just(OPERATOR_INCR), names, offsets),
        st.tuples(st.just(OPERATOR_APPEND), names, concatenations),
        st.tuples(st.just(OPERATOR_PREPEND), names, concatenations),
        st.tuples(st.just(OPERATOR_TOUCH), st.none(), st.none()),
    ),
    min_size=1,
    max_size=6,
).filter(
    # A server takes a read of all bins only as the one op with results.
    lambda entries: (
        (OPERATOR_READ, None, None) not in entries
        or sum(entry[0] == OPERATOR_READ for entry in entries) == 1
    )
)


class Failure(Exception):
    """A code of the server."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def wrapped(number):
    return (number + LIMIT) % (2 * LIMIT) - LIMIT


def outcome(call):
    try:
        return 0, call()
    except Failure as failure:
        return failure.code, None


class Model:
    """Records by key: generation and bins."""

    def __init__(self):
        self.records = {}

    def read(self, key):
        if key not in self.records:
            raise Failure(2)
        return self.records[key]

    def change(self, key, meta, edit, exists=0, create=True):
        """Edit a copy of the bins; it becomes the record, or nothing happens."""
        gen, bins = self.records.get(key, (0, {}))
        if not create and key not in self.records:
            raise Failure(2)
        if exists in (1, 3) and key not in self.records:
            raise Failure(2)
        if exists == 4 and key in self.records:
            raise Failure(5)
        if meta and "gen" in meta and meta["gen"] != gen:
            raise Failure(3)
        bins = {} if exists in (2, 3) else dict(bins)
        result = edit(bins)
        if bins:
            self.records[key] = gen + 1, bins
        elif self.records.pop(key, None) is None:
            raise Failure(2)
        return result

    def remove(self, key, meta):
        if key not in self.records:
            raise Failure(2)
        if meta and "gen" in meta and meta["gen"] != self.records[key][0]:
            raise Failure(3)
        del self.records[key]


def write(bins, name, value):
    if value is None:
        bins.pop(name, None)
    else:
        bins[name] = value


def concatenate(bins, name, value, at_end):
    old = bins.get(name, type(value)())
    if type(old) is not type(value):
        raise Failure(12)
    bins[name] = old + value if at_end else value + old


def increment(bins, name, value):
    old = bins.get(name)
    if old is None:
        bins[name] = value
    elif type(old) is int and type(value) is int:
        bins[name] = wrapped(old + value)
    elif type(old) is float and type(value) is float:
        bins[name] = old + value
    else:
        raise Failure(12)


def carry_out(bins, entries, results):
    for code, name, value in entries:
        if code == OPERATOR_READ and name is None:
            results += sorted(bins.items())
        elif code == OPERATOR_READ:
            results += [(name, bins[name])] if name in bins else []
        elif code == OPERATOR_WRITE:
            write(bins, name, value)
        elif code == OPERATOR_INCR:
            increment(bins, name, value)
        elif code in (OPERATOR_APPEND, OPERATOR_PREPEND):
            concatenate(bins, name, value, code == OPERATOR_APPEND)
    return results


def as_dicts(entries):
    return [
        {"op": code} | ({"bin": name} if name else {}) | ({"val": value})
        for code, name, value in entries
    ]


def exact(value):
    """Equal only when the types are: True is not 1, -0.0 is not 0.0."""
    if isinstance(value, list | tuple):
        return type(value).__name__, [exact(item) for item in value]
    if isinstance(value, dict):
        items = [(exact(key), exact(item)) for key, item in value.items()]
        return "dict", sorted(items, key=repr)
    return type(value).__name__, repr(value)


def joined(results):
    """Several results for one bin are a list."""
    bins = {}
    for name, value in results:
        bins.setdefault(name, []).append(value)
    return {name: all_ if len(all_) > 1 else all_[0] for name, all_ in bins.items()}


class Machine(RuleBasedStateMachine):
    driver = None  # of the test
    runs = 0

    def __init__(self):
        super().__init__()
        self.model = Model()
        Machine.runs += 1
        self.set = f"model{Machine.runs}"

    def key(self, user_key):
        return ("test", self.set, user_key)

    def same(self, expected, call):
        """Both give the same result, or fail with the same code."""
        code, wanted = outcome(expected)
        if code != 0:
            with pytest.raises(aeroloop.AerospikeError) as caught:
                call()
            assert caught.value.code == code
            return
        got = call()
        assert exact(got) == exact(wanted)

    @rule(user_key=user_keys, bins=bin_dicts, meta=metas, exists=exists_actions)
    def put(self, user_key, bins, meta, exists):
        def edit(old):
            for name, value in bins.items():
                write(old, name, value)

        if exists in (2, 3) and None in bins.values():
            exists = None  # a server refuses the removal of bins there
        policy = None if exists is None else {"exists": exists}
        key = self.key(user_key)
        self.same(
            lambda: self.model.change(key, meta, edit, exists or 0),
            lambda: self.driver.put(key, bins, meta, policy),
        )

    @rule(user_key=user_keys)
    def get(self, user_key):
        key = self.key(user_key)

        def expected():
            gen, bins = self.model.read(key)
            return gen, NEVER, bins

        def call():
            record = self.driver.get(key)
            assert record.key[:3] == key
            return *record.meta, record.bins

        self.same(expected, call)

    @rule(user_key=user_keys, some=st.lists(names, unique=True))
    def select(self, user_key, some):
        key = self.key(user_key)

        def expected():
            bins = self.model.read(key)[1]
            return {name: bins[name] for name in some if name in bins}

        self.same(expected, lambda: self.driver.select(key, some).bins)

    @rule(user_key=user_keys)
    def exists(self, user_key):
        key = self.key(user_key)
        meta = self.driver.exists(key).meta
        assert (None if meta is None else meta.gen) == (
            self.model.records[key][0] if key in self.model.records else None
        )

    @rule(user_key=user_keys, meta=metas)
    def remove(self, user_key, meta):
        key = self.key(user_key)
        self.same(
            lambda: self.model.remove(key, meta), lambda: self.driver.remove(key, meta)
        )

    @rule(user_key=user_keys, meta=metas)
    def touch(self, user_key, meta):
        key = self.key(user_key)
        self.same(
            lambda: self.model.change(key, meta, lambda bins: None, create=False),
            lambda: self.driver.touch(key, meta=meta),
        )

    @rule(user_key=user_keys, name=names, value=concatenations, at_end=st.booleans())
    def append_or_prepend(self, user_key, name, value, at_end):
        key = self.key(user_key)
        method = self.driver.append if at_end else self.driver.prepend
        self.same(
            lambda: self.model.change(
                key, None, lambda bins: concatenate(bins, name, value, at_end)
            ),
            lambda: method(key, name, value),
        )

    @rule(user_key=user_keys, name=names, offset=offsets, meta=metas)
    def increment(self, user_key, name, offset, meta):
        key = self.key(user_key)
        self.same(
            lambda: self.model.change(
                key, meta, lambda bins: increment(bins, name, offset)
            ),
            lambda: self.driver.increment(key, name, offset, meta),
        )

    @rule(user_key=user_keys, entries=ops, meta=metas, delete=st.booleans())
    def operate(self, user_key, entries, meta, delete):
        key = self.key(user_key)
        calls = as_dicts(entries)
        if delete:
            calls.append({"op": OPERATOR_DELETE})
        reads_only = not delete and all(op["op"] == OPERATOR_READ for op in calls)

        def edit(bins):
            results = carry_out(bins, entries, [])
            if delete:
                bins.clear()
            return joined(results)

        def expected():
            if reads_only:
                return joined(carry_out(self.model.read(key)[1], entries, []))
            # What is touched must be there.
            create = all(op["op"] != OPERATOR_TOUCH for op in calls)
            return self.model.change(key, meta, edit, create=create)

        self.same(expected, lambda: self.driver.operate(key, calls, meta).bins)

    @rule(user_key=user_keys, entries=ops)
    def operate_ordered(self, user_key, entries):
        key = self.key(user_key)
        entries = [entry for entry in entries if entry[1] is not None]
        if not entries:
            return

        def expected():
            if all(entry[0] == OPERATOR_READ for entry in entries):
                results = carry_out(self.model.read(key)[1], entries, [])
            else:
                results = self.model.change(
                    key, None, lambda bins: carry_out(bins, entries, [])
                )
            return results

        self.same(
            expected,
            lambda: [
                tuple(entry)
                for entry in self.driver.operate_ordered(
                    key, as_dicts(entries)
                ).ordered_bins
            ],
        )

    @rule(
        rows=st.lists(
            st.tuples(user_keys, bin_dicts, metas),
            max_size=8,
            unique_by=lambda r: exact(r[0]),
        ),
        retry=st.sampled_from([0, 2]),
    )
    def batch_write(self, rows, retry):
        expected = []
        for user_key, bins, meta in rows:

            def edit(old, bins=bins):
                for name, value in bins.items():
                    write(old, name, value)

            try:
                self.model.change(self.key(user_key), meta, edit)
                expected.append(0)
            except Failure as failure:
                expected.append(failure.code)
        answer = self.driver.batch_write(
            [(self.key(user_key), bins, meta) for user_key, bins, meta in rows],
            retry=retry,
        )
        assert [record.result for record in answer.batch_records] == expected

    @rule(
        wanted=st.lists(
            st.tuples(user_keys, metas), max_size=8, unique_by=lambda r: exact(r[0])
        )
    )
    def batch_remove(self, wanted):
        expected = []
        for user_key, meta in wanted:
            try:
                self.model.remove(self.key(user_key), meta)
                expected.append(0)
            except Failure as failure:
                expected.append(failure.code)
        answer = self.driver.batch_remove(
            [
                self.key(user_key) if meta is None else (self.key(user_key), meta)
                for user_key, meta in wanted
            ]
        )
        assert [record.result for record in answer.batch_records] == expected

    @rule(wanted=st.lists(user_keys, max_size=8, unique_by=exact), offset=offsets)
    def batch_operate(self, wanted, offset):
        expected = []
        for user_key in wanted:
            with contextlib.suppress(Failure):
                self.model.change(
                    self.key(user_key), None, lambda bins: increment(bins, "n", offset)
                )
            _, bins = self.model.records.get(self.key(user_key), (0, {}))
            expected.append(bins.get("n"))
        calls = [{"op": OPERATOR_INCR, "bin": "n", "val": offset}]
        calls.append({"op": OPERATOR_READ, "bin": "n"})
        answer = self.driver.batch_operate([self.key(k) for k in wanted], calls)
        for record, value in zip(answer.batch_records, expected, strict=True):
            if record.result == 0:
                assert exact(record.record.bins["n"]) == exact([None, value])
            else:
                assert record.result == 12
                assert type(value) is not type(offset)

    @rule(
        wanted=st.lists(user_keys, max_size=12),
        some=st.none() | st.lists(names, unique=True, min_size=1),
        policy=st.fixed_dictionaries(
            {}, optional={"allow_split": st.booleans(), "allow_all_bins": st.booleans()}
        ),
    )
    def batch_read(self, wanted, some, policy):
        expected = []
        for user_key in wanted:
            _, bins = self.model.records.get(self.key(user_key), (0, None))
            if bins is not None and some is not None:
                bins = {name: value for name, value in bins.items() if name in some}
            expected.append(bins)
        answer = self.driver.batch_read([self.key(k) for k in wanted], some, policy)
        assert exact(answer.to_list()) == exact(expected)
        assert answer.found_count() == sum(bins is not None for bins in expected)


@pytest.mark.slow
@pytest.mark.parametrize("make", [SyncDriver, AsyncDriver], ids=["sync", "async"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_any_commands_in_any_order(nodes, make):
    with DevServer(nodes=nodes) as server:
        driver = make({"hosts": server.hosts})

        class OfThisTest(Machine):
            pass

        OfThisTest.driver = driver
        run_state_machine_as_test(
            OfThisTest,
            settings=settings(
                max_examples=300 if SOAK else 15,
                stateful_step_count=40,
                report_multiple_bugs=False,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
        driver.shutdown()
