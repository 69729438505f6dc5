# SPDX-License-Identifier: Apache-2.0
"""to_numpy: the tables of section 9 of the API."""

import math

import pytest

from aeroloop import NumpyBatchRecords
from aeroloop.numpy_batch import _batch_records_to_numpy

np = pytest.importorskip("numpy")


@pytest.fixture
def fill(client, key):
    """fill(value, dtype) stores one bin "a" and reads it into a field "a"."""

    def run(value, dtype, **options):
        client.put(key, {"a": value, "other": "x" * 30})
        h = client.batch_read([key])
        return h.to_numpy(np.dtype([("a", *dtype)]), **options)

    return run


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (5, ("i1",), 5),
        (-128, ("i1",), -128),
        (2**63 - 1, ("i8",), 2**63 - 1),
        (-(2**63), ("i8",), -(2**63)),
        (255, ("u1",), 255),
        (2**63 - 1, ("u8",), 2**63 - 1),
        (5, ("f4",), 5.0),
        (2**53 + 1, ("f8",), float(2**53 + 1)),
        (2**24 + 1, ("f4",), float(2**24)),
        (1.5, ("f8",), 1.5),
        (1.5, ("f4",), 1.5),
        (1.5, ("f2",), 1.5),
        (math.inf, ("f4",), math.inf),
        (1e300, ("f2",), math.inf),
        (-1.9, ("i4",), -1),
        (1.9, ("u4",), 1),
        (True, ("i8",), 1),
        (False, ("f8",), 0.0),
        (True, ("?",), True),
        ("text", ("S10",), b"text"),
        ("text", ("S2",), b"te"),
        ("\u00e9x", ("S1",), b"\xc3"),
        (b"ab\0c", ("V6",), b"ab\0c\0\0"),
        (b"abcdef", ("V3",), b"abc"),
        (5, (">i4",), 5),
        (1.5, (">f8",), 1.5),
        (-3, ("<i2",), -3),
    ],
)
def test_values(fill, value, dtype, expected):
    r = fill(value, dtype)
    cell = r.batch_records[0]["a"]
    if isinstance(expected, bytes):
        assert bytes(cell) == expected
    else:
        assert cell == expected
    assert r.result_codes.tolist() == [0]


def test_nan_passes(fill):
    for kind in ["f8", "f4", "f2"]:
        assert math.isnan(fill(math.nan, (kind,)).batch_records[0]["a"])


@pytest.mark.parametrize(
    ("value", "dtype", "error", "match"),
    [
        (300, ("i1",), OverflowError, "value 300 does not fit in i8 for field 'a'"),
        (-129, ("i1",), OverflowError, "value -129 does not fit in i8 for field 'a'"),
        (2**31, ("i4",), OverflowError, "does not fit in i32 for field 'a'"),
        (-1, ("u2",), ValueError, "cannot write negative integer -1"),
        (256, ("u1",), OverflowError, "value 256 does not fit in u8"),
        (1e300, ("f4",), OverflowError, "float overflow"),
        (math.nan, ("i4",), ValueError, "nan"),
        (math.inf, ("u4",), ValueError, "inf"),
        (1e30, ("i8",), ValueError, "1e\\+30"),
        (-5.0, ("u8",), ValueError, "-5.0"),
        (5, ("S4",), TypeError, "cannot write integer to bytes field 'a'"),
        (1.5, ("V4",), TypeError, "cannot write float to bytes field 'a'"),
        (True, ("S4",), TypeError, "cannot write bool to bytes field 'a'"),
        ("x", ("i4",), TypeError, "cannot write string to numeric field 'a'"),
        (b"x", ("f4",), TypeError, "cannot write bytes to numeric field 'a'"),
        ([1], ("f4",), TypeError, "unsupported Aerospike value type for numpy field"),
        ({"x": 1}, ("S4",), TypeError, "unsupported Aerospike value type"),
        (5, ("f4", (3,)), TypeError, "sub-array"),
        (1.5, ("f4", (3,)), TypeError, "sub-array"),
    ],
)
def test_values_that_do_not_fit(fill, value, dtype, error, match):
    with pytest.raises(error, match=match):
        fill(value, dtype)


def test_sub_arrays(fill):
    floats = np.arange(4, dtype="f4")
    assert fill(floats.tobytes(), ("f4", (4,))).batch_records[0]["a"].tolist() == [
        0,
        1,
        2,
        3,
    ]
    short = fill(floats.tobytes()[:8], ("f4", (4,)))
    assert short.batch_records[0]["a"].tolist() == [0, 1, 0, 0]
    long = fill(floats.tobytes(), ("f4", (2,)))
    assert long.batch_records[0]["a"].tolist() == [0, 1]
    square = fill(floats.tobytes(), ("f4", (2, 2)))
    assert square.batch_records[0]["a"].tolist() == [[0, 1], [2, 3]]
    numbers = fill([1, 2.5, True], ("f4", (4,)))
    assert numbers.batch_records[0]["a"].tolist() == [1, 2.5, 1, 0]


@pytest.mark.parametrize(
    ("dtype", "error"),
    [
        ([("a", "U4")], TypeError),
        ([("a", "O")], TypeError),
        ([("a", "M8[s]")], TypeError),
        ([("a", "m8[s]")], TypeError),
        ([("a", "c8")], TypeError),
        ([("a", "S4", (3,))], TypeError),
    ],
)
def test_dtypes_that_cannot_be_filled(client, dtype, error):
    with pytest.raises(error):
        client.batch_read([]).to_numpy(np.dtype(dtype))


def test_long_double_and_plain_dtypes(client):
    h = client.batch_read([])
    if np.dtype("longdouble").itemsize == 16:
        with pytest.raises(TypeError, match="unsupported float size: 16 bytes"):
            h.to_numpy(np.dtype([("a", "f16")]))
    for bad in [np.dtype("f4"), [("a", "f4")], "f4", None, np.float32]:
        with pytest.raises(TypeError):
            h.to_numpy(bad)
    with pytest.raises(TypeError):
        h.to_numpy()
    with pytest.raises(TypeError):
        h.to_numpy(np.dtype([("a", "f4")]), True)
    with pytest.raises(ValueError, match="overflow"):
        h.to_numpy(np.dtype([("a", "f4")]), overflow="wrap")
    with pytest.raises(TypeError):
        h.to_numpy(np.dtype([("a", "f4")]), strict=1)


LAYOUTS = [
    np.dtype([("i", "i1"), ("f", "f8")]),
    np.dtype([("i", "i1"), ("f", "f8")], align=True),
    np.dtype([("f", ">f8"), ("i", ">i4")]),
    np.dtype(
        {
            "names": ["i", "f"],
            "formats": ["i2", "f4"],
            "offsets": [20, 3],
            "itemsize": 40,
        }
    ),
    np.dtype([("i", "i8"), ("gap", "V100"), ("f", "f2")]),
    np.dtype([("i", "i8"), ("nested", [("x", "i4"), ("y", "f8")]), ("f", "f4")]),
    np.dtype([(("title", "i"), "i4"), ("f", "f4")]),
]


@pytest.mark.parametrize("dtype", LAYOUTS, ids=str)
def test_layouts(client, key, dtype):
    keys = [(*key, None) for _ in range(1)]
    client.put(key, {"f": 2.5, "i": 7, "unknown": [1]})
    r = client.batch_read(keys * 3).to_numpy(dtype)
    assert r.batch_records.dtype == dtype
    assert r.batch_records["i"].tolist() == [7, 7, 7]
    assert r.batch_records["f"].tolist() == [2.5, 2.5, 2.5]
    expected = np.zeros(3, dtype)
    expected["i"] = 7
    expected["f"] = 2.5
    assert r.batch_records.tobytes() == expected.tobytes()


def test_overlapping_fields_are_refused(client):
    dtype = np.dtype({"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 2]})
    with pytest.raises(TypeError):
        client.batch_read([]).to_numpy(dtype)


def test_result_object(db, key):
    keys = [(*key[:2], f"{key[2]}-{i}") for i in range(3)]
    db.put(keys[0], {"a": 1}, {"ttl": 1000})
    db.put(keys[2], {"b": 5})
    digest = db.exists(keys[0]).key.digest
    h = db.batch_read([*keys, (*key[:2], None, digest)])
    r = h.to_numpy(np.dtype([("a", "i4"), ("b", "i2")]))
    assert type(r) is NumpyBatchRecords
    assert r.batch_records.tolist() == [(1, 0), (0, 0), (0, 5), (1, 0)]
    assert r.batch_records.flags.c_contiguous
    assert r.batch_records.flags.owndata
    assert r.batch_records.flags.writeable
    assert r.result_codes.dtype == np.int32
    assert r.result_codes.tolist() == [0, 2, 0, 0]
    assert r.meta.dtype == np.dtype([("gen", "u4"), ("ttl", "u4")])
    assert r.meta["gen"].tolist() == [1, 0, 1, 1]
    assert 995 <= r.meta["ttl"][0] <= 1000
    assert r.meta["ttl"][1] == 0
    assert r.meta["ttl"][2] == 4294967295
    assert r._map == {
        keys[0][2]: 0,
        keys[1][2]: 1,
        keys[2][2]: 2,
        "__no_user_key_3__": 3,
    }
    assert r.get(keys[2][2])["b"] == 5
    assert keys[1][2] in r
    assert "nobody" not in r
    with pytest.raises(KeyError, match="'nobody' not found in NumpyBatchRecords"):
        r.get("nobody")
    assert len(r) == 4
    assert [row["a"] for row in r] == [1, 0, 0, 1]
    assert repr(r) == "NumpyBatchRecords(count=4, ok=3, fields=['a', 'b'])"
    assert NumpyBatchRecords.__slots__ == (
        "_map",
        "batch_records",
        "meta",
        "result_codes",
    )


def test_no_rows(db):
    r = db.batch_read([]).to_numpy(np.dtype([("a", "f4")]))
    assert len(r) == 0
    assert r.batch_records.shape == r.meta.shape == r.result_codes.shape == (0,)
    assert r._map == {}


def test_duplicates_fill_both_rows(db, key):
    db.put(key, {"a": 3})
    r = db.batch_read([key, key]).to_numpy(np.dtype([("a", "u1")]))
    assert r.batch_records["a"].tolist() == [3, 3]
    assert r._map == {key[2]: 1}


def test_zero_copy_matrix(client, key):
    names = [f"f{i}" for i in range(16)]
    keys = [(*key[:2], f"{key[2]}-{i}") for i in range(5)]
    for row, k in enumerate(keys):
        client.put(k, {name: float(row * 16 + i) for i, name in enumerate(names)})
    dtype = np.dtype([(name, "<f4") for name in names])
    a = client.batch_read(keys).to_numpy(dtype).batch_records
    matrix = a.view(np.float32).reshape(-1, 16)
    assert matrix.base is a
    assert np.shares_memory(matrix, a)
    assert (matrix == np.arange(80, dtype="f4").reshape(5, 16)).all()
    matrix[2, 3] = -1
    assert a[2]["f3"] == -1


def test_an_error_names_row_and_field_and_leaves_the_handle(client, key):
    keys = [(*key[:2], f"{key[2]}-{i}") for i in range(20)]
    for i, k in enumerate(keys):
        client.put(k, {"a": 300 if i == 13 else 5})
    h = client.batch_read(keys)
    with pytest.raises(OverflowError, match=r"300.*'a'.*row 13"):
        h.to_numpy(np.dtype([("a", "i1")]))
    assert h.to_numpy(np.dtype([("a", "i2")])).batch_records["a"][13] == 300
    clipped = h.to_numpy(np.dtype([("a", "i1")]), overflow="clip")
    assert clipped.batch_records["a"].tolist() == [5] * 13 + [127] + [5] * 6


def test_validity_tells_absent_from_zero(client, key):
    keys = [(*key[:2], f"{key[2]}-{i}") for i in range(4)]
    client.put(keys[0], {"a": 0})
    client.put(keys[1], {"b": 1})
    client.put(keys[2], {"a": "text", "b": 2})
    h = client.batch_read(keys)
    dtype = np.dtype([("a", "i8"), ("b", "i8")])
    r = h.to_numpy(dtype, validity=True)
    assert r.validity.dtype == np.bool_
    assert r.validity.tolist() == [
        [True, False],
        [False, True],
        [False, True],
        [False, False],
    ]
    assert r.batch_records.tolist() == [(0, 0), (0, 1), (0, 2), (0, 0)]
    assert r.result_codes.tolist() == [0, 0, 0, 2]
    assert isinstance(r, NumpyBatchRecords)
    with pytest.raises(TypeError, match="cannot write string"):
        h.to_numpy(dtype)
    assert not hasattr(client.batch_read(keys[:2]).to_numpy(dtype), "validity")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("text", "S2"),
        (b"abcd", "V3"),
        (2**53 + 1, "f8"),
        (0.1, "f4"),
        (1.5, "i4"),
    ],
)
def test_strict_refuses_what_is_cut_or_rounded(fill, value, dtype):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        fill(value, (dtype,), strict=True)


def test_strict_refuses_missing_and_unknown(client, key):
    client.put(key, {"a": 1, "b": 2})
    h = client.batch_read([key])
    assert h.to_numpy(
        np.dtype([("b", "i4"), ("a", "i4")]), strict=True
    ).batch_records.tolist() == [(2, 1)]
    with pytest.raises(ValueError, match="'b'"):
        h.to_numpy(np.dtype([("a", "i4")]), strict=True)
    with pytest.raises(ValueError, match="'c'"):
        h.to_numpy(np.dtype([("a", "i4"), ("b", "i4"), ("c", "i4")]), strict=True)
    missing = client.batch_read([(*key[:2], "nobody")])
    with pytest.raises(ValueError, match="row 0"):
        missing.to_numpy(np.dtype([("a", "i4")]), strict=True)


def test_many_dtypes_and_random_order(client, key):
    rng = np.random.default_rng(7)
    names = [f"b{i}" for i in range(30)]
    keys = [(*key[:2], f"{key[2]}-{i}") for i in range(40)]
    for i, k in enumerate(keys):
        order = rng.permutation(30)
        client.put(k, {names[j]: int(i * 30 + j) for j in order})
    h = client.batch_read(keys)
    for _ in range(100):
        some = rng.permutation(30)[: rng.integers(1, 30)]
        dtype = np.dtype([(names[j], "i4") for j in some])
        a = h.to_numpy(dtype).batch_records
        for j in some:
            assert (a[names[j]] == np.arange(40) * 30 + j).all()


def test_large_fill_from_threads(client, key):
    from concurrent.futures import ThreadPoolExecutor

    names = [f"f{i}" for i in range(64)]
    client.put(key, {name: float(i) for i, name in enumerate(names)})
    h = client.batch_read([key] * 3000)
    dtype = np.dtype([(name, "<f4") for name in names])
    expected = np.arange(64, dtype="f4")

    def work(_):
        matrix = h.to_numpy(dtype).batch_records.view("f4").reshape(-1, 64)
        return bool((matrix == expected).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(12)))


class Stand:
    """What `_batch_records_to_numpy` takes: records that are Python objects."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def records(*bins, keys=None):
    rows = [
        Stand(
            key=("test", "s", keys[i] if keys else f"k{i}", b""),
            result=2 if value is None else 0,
            record=None if value is None else ((), {"gen": i + 1, "ttl": 5}, value),
        )
        for i, value in enumerate(bins)
    ]
    return Stand(batch_records=rows)


def test_records_that_are_python_objects():
    dtype = np.dtype([("a", "i4"), ("b", "f8"), ("s", "S3")])
    r = _batch_records_to_numpy(
        records({"a": 1, "b": 2, "s": b"abcd"}, None, {"a": None, "other": []}),
        dtype,
        [],
    )
    assert r.batch_records.tolist() == [(1, 2.0, b"abc"), (0, 0.0, b""), (0, 0.0, b"")]
    assert r.result_codes.tolist() == [0, 2, 0]
    assert r.meta.tolist() == [(1, 5), (0, 0), (3, 5)]
    assert r._map == {"k0": 0, "k1": 1, "k2": 2}
    assert len(_batch_records_to_numpy(records(), dtype, [])) == 0


def test_warnings_of_python_objects():
    dtype = np.dtype([("a", "i4")])
    with pytest.warns(UserWarning, match="user key 'k' of record 1"):
        r = _batch_records_to_numpy(records({"a": 1}, {"a": 2}, keys="kk"), dtype, [])
    assert r._map == {"k": 1}
    bad = records({"a": 1})
    bad.batch_records[0].key = None
    with pytest.warns(UserWarning, match="no usable key"):
        assert _batch_records_to_numpy(bad, dtype, [])._map == {0: 0}
    more = np.dtype([("a", "i4"), ("c", "i4")])
    with pytest.warns(UserWarning, match=r"no bins for the fields \['a'\]"):
        _batch_records_to_numpy(records({"c": 1}), more, [], strict=True)
    with pytest.warns(UserWarning, match=r"bins without a field: \['b'\]"):
        _batch_records_to_numpy(records({"a": 1, "b": 1}), dtype, [], strict=True)


def test_errors_of_python_objects():
    dtype = np.dtype([("a", "i1")])
    for value, error in [([1, 2], (TypeError, ValueError)), ("x", ValueError)]:
        with pytest.raises(
            error, match=r"field 'a' \(int8\) of record 1, user key 'k1'"
        ):
            _batch_records_to_numpy(records({"a": 1}, {"a": value}), dtype, [])
    for kind in ["U3", "O", "M8[s]", "?"]:
        with pytest.raises(TypeError, match="must be numeric"):
            _batch_records_to_numpy(records(), np.dtype([("a", kind)]), [])
