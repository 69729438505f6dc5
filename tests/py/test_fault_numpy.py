# SPDX-License-Identifier: Apache-2.0
"""Arrays filled from what the server sent, against NumPy's own conversions: cases B11,
B12, B13, B72, B90. The arithmetic of every kind and mode is tested in C."""

from __future__ import annotations

import math
import random
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import aeroloop
from support.fakeserver import FakeCluster
from support.fakewire import FLOAT, Raw, key, nested_list
from support.faults import connected, watchdog

np = pytest.importorskip("numpy")


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        yield cluster
        cluster.check()


@pytest.fixture
def client(fake: FakeCluster) -> Iterator[aeroloop.Client]:
    with watchdog(), connected(fake) as one:
        yield one


# One bad value among a thousand good ones.

NARROW = [
    (300, "i1", {}, OverflowError),
    (-1, "u2", {}, ValueError),
    (2**40, "i4", {}, OverflowError),
    (2**63 - 1, "f4", {"strict": True}, ValueError),
    (1e300, "f4", {}, OverflowError),
    (1e300, "f2", {"strict": True}, OverflowError),
    (300.5, "i1", {}, OverflowError),
    (math.nan, "i4", {}, ValueError),
    ("abcdef", "S3", {"strict": True}, ValueError),
    (b"12345", "V8", {"strict": True}, ValueError),
    (b"123456789", "V8", {"strict": True}, ValueError),
    ("text", "f8", {}, TypeError),
    (b"1234", "f4", {}, TypeError),
    ([1], "f4", {}, TypeError),
    ({1: 2}, "i8", {}, TypeError),
    (1.5, "S8", {}, TypeError),
    (5, ("f4", (3,)), {}, TypeError),
    ([1, "x"], ("f4", (2,)), {}, TypeError),
    ([1, 2, 3], ("f4", (2,)), {"strict": True}, ValueError),
    ([1], ("f4", (2,)), {"strict": True}, ValueError),
    ([1, 300], ("i1", (2,)), {}, OverflowError),
    ([1, 1e300], ("f4", (2,)), {}, OverflowError),
    (bytes(7), ("f4", (2,)), {"strict": True}, ValueError),
    (2, "?", {}, OverflowError),
    (1.0, "?", {}, TypeError),
]


@pytest.mark.parametrize(("value", "kind", "options", "error"), NARROW, ids=str)
def test_one_bad_row_of_a_thousand(
    fake: FakeCluster,
    client: aeroloop.Client,
    value: Any,
    kind: Any,
    options: dict[str, bool],
    error: type[Exception],
) -> None:
    """The error names the field and the row; with the row gone, all is well."""
    dtype = np.dtype([("x", *kind) if isinstance(kind, tuple) else ("x", kind)])
    good: Any = 1
    if dtype["x"].kind in "SV" and dtype["x"].subdtype is None:
        good = b"x" * dtype["x"].itemsize
    elif dtype["x"].subdtype is not None:
        good = [1] * dtype["x"].shape[0]
    keys = fake.fill(1000, lambda n: {"x": value if n == 500 else good})
    rows = client.batch_read(keys)
    with pytest.raises(error) as caught:
        rows.to_numpy(dtype, **options)
    assert "'x'" in str(caught.value)
    assert "500" in str(caught.value)
    rest = client.batch_read(keys[:500] + keys[501:]).to_numpy(dtype, **options)
    assert len(rest.batch_records) == 999


def test_the_value_is_in_the_message(fake: FakeCluster, client: Any) -> None:
    for value, kind, text in (
        (300, "i1", "300"),
        (300.5, "i1", "value 300 "),
        (-7, "u1", "-7"),
        (1e300, "f4", "1e+300"),
    ):
        keys = fake.fill(1, lambda n, value=value: {"x": value})
        with pytest.raises((OverflowError, ValueError), match="'x'") as caught:
            client.batch_read(keys).to_numpy(np.dtype([("x", kind)]))
        assert text in str(caught.value)


def test_clipping_is_asked_for(fake: FakeCluster, client: Any) -> None:
    values = [300, -300, 2**62, 1e300, -1e300, math.inf, 5]
    keys = fake.fill(len(values), lambda n: {"x": values[n]})
    clipped = client.batch_read(keys).to_numpy(np.dtype([("x", "i1")]), overflow="clip")
    assert clipped.batch_records["x"].tolist() == [127, -128, 127, 127, -128, 127, 5]


# What is missing is not zero.


def test_missing_is_told_from_zero(fake: FakeCluster, client: Any) -> None:
    records: list[dict[str, Any]] = [{"a": 0}, {"b": 1}, {"a": "text"}]
    keys = [*fake.fill(3, lambda n: records[n]), key(99)]
    dtype = np.dtype([("a", "i8"), ("b", "i8")])
    got = client.batch_read(keys).to_numpy(dtype, validity=True)
    assert got.validity.tolist() == [
        [True, False],
        [False, True],
        [False, False],
        [False, False],
    ]
    assert got.result_codes.tolist() == [0, 0, 0, 2]
    assert got.batch_records["a"].tolist() == [0, 0, 0, 0]
    assert got.batch_records["b"].tolist() == [0, 1, 0, 0]
    assert got.meta["gen"].tolist() == [1, 1, 1, 0]


def test_a_bad_cell_of_a_hostile_server(fake: FakeCluster, client: Any) -> None:
    """A value of the wrong size is an error, also where wrong types are not; a list a
    million deep is only a wrong type."""
    dtype = np.dtype([("x", "f8"), ("v", "f4", (3,))])
    good = {"x": 1.0, "v": [1, 2, 3]}
    for broken in (Raw(FLOAT, bytes(7)), Raw(FLOAT, b""), Raw(20, b"\xdd\xff")):
        name = "v" if broken.particle == 20 else "x"
        fill = {**good, name: broken}
        keys = fake.fill(3, lambda n, fill=fill: fill if n == 1 else good)
        with pytest.raises(aeroloop.AerospikeError):
            client.batch_read(keys).to_numpy(dtype)
        with pytest.raises(aeroloop.AerospikeError):
            client.batch_read(keys).to_numpy(dtype, validity=True)
    deep = {**good, "v": nested_list(1_000_000)}
    keys = fake.fill(3, lambda n: deep if n == 1 else good)
    with pytest.raises(TypeError):
        client.batch_read(keys).to_numpy(dtype)
    got = client.batch_read(keys).to_numpy(dtype, validity=True)
    assert got.validity.tolist() == [[True, True], [True, False], [True, True]]
    assert got.batch_records["v"].tolist() == [[1, 2, 3], [0, 0, 0], [1, 2, 3]]


# Layouts.

LAYOUTS: list[Any] = [
    [("a", "i1"), ("b", "f8"), ("c", "S5")],
    np.dtype([("a", "i1"), ("b", "f8"), ("c", "S5")], align=True),
    [("a", ">i8"), ("b", ">f4"), ("c", "V9")],
    [("a", "<u2"), ("b", ">f8"), ("c", "S1")],
    {
        "names": ["a", "b", "c"],
        "formats": ["i8", "f4", "S3"],
        "offsets": [100, 3, 50],
        "itemsize": 1000,
    },
    {
        "names": ["c", "b", "a"],
        "formats": ["S4", "f2", "u1"],
        "offsets": [9, 5, 1],
        "itemsize": 17,
    },
    [("b", "f4", (1,)), ("a", "i2", (2, 2)), ("c", "S0")],
    [(("title", "a"), "i4"), ("b", "f8"), ("c", "S8")],
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_layout(fake: FakeCluster, client: Any, layout: Any) -> None:
    dtype = np.dtype(layout)

    def value(name: str, n: int) -> Any:
        field = dtype[name]
        if field.subdtype is not None:
            return [n % 100] * int(np.prod(field.shape))
        if field.kind in "SV":
            return bytes([65 + n % 26]) * 3
        return n % 100 if field.kind in "iu" else n % 100 / 4

    keys = fake.fill(50, lambda n: {name: value(name, n) for name in "abc"})
    got = client.batch_read(keys).to_numpy(dtype).batch_records
    assert got.dtype == dtype
    expected = np.zeros(50, dtype)
    for n in range(50):
        for name in "abc":
            field = dtype[name]
            one = value(name, n)
            if field.subdtype is not None:
                expected[name][n] = np.array(one).reshape(field.shape)
            elif field.kind == "V":
                expected[name][n] = one[: field.itemsize].ljust(field.itemsize, b"\0")
            else:
                expected[name][n] = one
    for name in "abc":
        assert got[name].tobytes() == expected[name].tobytes(), name


@pytest.mark.parametrize(
    "layout",
    [
        [("x", "O")],
        [("x", "U8")],
        [("x", "M8[s]")],
        [("x", "m8[ns]")],
        [("x", "c16")],
        [("x", "i8"), ("y", "O")],
        {"names": ["x", "y"], "formats": ["i8", "i8"], "offsets": [0, 4]},
        {"names": ["x", "y"], "formats": ["i8", "S20"], "offsets": [8, 0]},
    ],
    ids=str,
)
def test_layouts_that_are_refused(fake: FakeCluster, client: Any, layout: Any) -> None:
    """Also for no rows at all: nothing is written before the dtype was read."""
    for keys in ([], fake.fill(3, lambda n: {"x": 1, "y": 2})):
        with pytest.raises((TypeError, ValueError)):
            client.batch_read(keys).to_numpy(np.dtype(layout))


# Floats.

SPECIAL = [
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    1e-40,
    65504.0,
    65520.0,
    6e-8,
    2.98e-8,
    0.1,
]


def test_special_floats(fake: FakeCluster, client: Any) -> None:
    keys = fake.fill(len(SPECIAL), lambda n: {"x": SPECIAL[n]})
    rows = client.batch_read(keys)
    assert [struct.pack(">d", row["x"]) for row in rows.to_list()] == [
        struct.pack(">d", number) for number in SPECIAL
    ]
    wide = rows.to_numpy(np.dtype([("x", "f8")])).batch_records["x"]
    assert wide.tobytes() == np.array(SPECIAL).tobytes()
    with np.errstate(over="ignore"):
        for kind in ("f2", ">f2", "f4"):
            numbers = [x for x in SPECIAL if kind != "f4" or not 1e39 < abs(x) < 1e309]
            some = fake.fill(len(numbers), lambda n, numbers=numbers: {"x": numbers[n]})
            got = client.batch_read(some).to_numpy(np.dtype([("x", kind)]))
            expected = np.array(numbers).astype(kind)
            np.testing.assert_array_equal(got.batch_records["x"], expected)
            assert np.signbit(got.batch_records["x"]).tolist() == (
                np.signbit(expected).tolist()
            )


def test_payloads_of_nan(fake: FakeCluster, client: Any) -> None:
    bits = [0x7FF8000000000000 | 1 << n for n in range(51)] + [0xFFFDEADBEEF00001]
    keys = fake.fill(len(bits), lambda n: {"x": Raw(FLOAT, struct.pack(">Q", bits[n]))})
    rows = client.batch_read(keys)
    got = rows.to_numpy(np.dtype([("x", "f8")])).batch_records["x"]
    assert got.view("u8").tolist() == bits
    as_objects = [
        struct.unpack(">Q", struct.pack(">d", row["x"]))[0] for row in rows.to_list()
    ]
    assert as_objects == bits


def test_random_floats_to_half_and_single(fake: FakeCluster, client: Any) -> None:
    chance = random.Random(3)
    numbers = [
        chance.choice((-1, 1)) * math.ldexp(chance.random(), chance.randint(-160, 120))
        for _ in range(2000)
    ]
    keys = fake.fill(len(numbers), lambda n: {"x": numbers[n]})
    rows = client.batch_read(keys)
    with np.errstate(over="ignore", under="ignore"):
        for kind in ("f2", "f4", "f8", ">f2", ">f4", ">f8"):
            got = rows.to_numpy(np.dtype([("x", kind)])).batch_records["x"]
            assert got.tobytes() == np.array(numbers).astype(kind).tobytes()


# Booleans.


def test_booleans(fake: FakeCluster, client: Any) -> None:
    keys = fake.fill(4, lambda n: {"x": (True, False, 1, 0)[n]})
    rows = client.batch_read(keys)
    assert [type(row["x"]) for row in rows.to_list()] == [bool, bool, int, int]
    for kind in ("?", "i8", "u1", "f8", "f2"):
        got = rows.to_numpy(np.dtype([("x", kind)])).batch_records["x"]
        assert got.tolist() == [1, 0, 1, 0]
    with pytest.raises(TypeError):
        rows.to_numpy(np.dtype([("x", "S1")]))


# Orders of bins and threads.


def test_records_of_different_order_and_content(fake: FakeCluster, client: Any) -> None:
    chance = random.Random(5)
    names = [f"name{n}" for n in range(40)]
    records = []
    for _ in range(300):
        some = chance.sample(names, chance.randrange(len(names)))
        records.append({name: chance.random() for name in some})
    keys = fake.fill(len(records), lambda n: records[n])
    wanted = [*names[::2], "absent"]
    dtype = np.dtype([(name, "f8") for name in wanted])
    got = client.batch_read(keys).to_numpy(dtype, validity=True)
    for n, record in enumerate(records):
        for column, name in enumerate(wanted):
            assert got.batch_records[name][n] == record.get(name, 0)
            assert got.validity[n, column] == (name in record)


def test_threads_fill_from_one_batch(fake: FakeCluster, client: Any) -> None:
    keys = fake.fill(500, lambda n: {f"f{i}": n * i / 2 for i in range(20)})
    rows = client.batch_read(keys)
    dtype = np.dtype([(f"f{i}", "f4") for i in range(20)])
    expected = rows.to_numpy(dtype).batch_records.tobytes()
    wrong = []

    def work() -> None:
        for _ in range(50):
            if rows.to_numpy(dtype).batch_records.tobytes() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
