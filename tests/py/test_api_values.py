# SPDX-License-Identifier: Apache-2.0
"""Any value that may be stored comes back the same, by get and by batch_read."""

import math

import pytest

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

ALPHABET = "ab0 \0\n\u00e9\u4e2d\U0001f600"
NAMES = [*"abcdefgh", "longest-name-15", "\u00e9" * 7, "\u4e2d", " ", "A", "a-b", "\n"]

integers = st.integers(-(2**63), 2**63 - 1)
texts = st.text(ALPHABET, max_size=20)
blobs = st.binary(max_size=20)
scalars = st.one_of(st.none(), st.booleans(), integers, st.floats(), texts, blobs)
map_keys = st.one_of(integers, texts, blobs)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(map_keys, inner, max_size=4)
    ),
    max_leaves=10,
)
records = st.dictionaries(
    st.sampled_from(NAMES),
    values.filter(lambda value: value is not None),
    min_size=1,
    max_size=8,
)
user_keys = st.one_of(integers, texts, blobs)

settings = hypothesis.settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def same(first, second):
    """Equal in value and type all the way down; NaN is NaN and -0.0 is not 0.0."""
    if type(first) is not type(second):
        return False
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(
            same(first[key], second[key]) for key in first
        )
    if isinstance(first, float):
        if math.isnan(first):
            return math.isnan(second)
        return first == second and math.copysign(1, first) == math.copysign(1, second)
    return first == second


@settings
@hypothesis.given(user_key=user_keys, bins=records)
def test_records_come_back(db, user_key, bins):
    key = ("test", "values", user_key)
    db.put(key, bins, policy={"exists": 2})
    record = db.get(key)
    assert same(record.bins, bins)
    assert same(record.key.user_key, user_key)
    h = db.batch_read([key])
    assert same(h.to_list(), [bins])
    assert same(h.to_dict(), {user_key: bins})
    some = list(bins)[::2]
    assert same(db.select(key, some).bins, {name: bins[name] for name in some})
    assert same(db.batch_read([key], some).to_list()[0], db.select(key, some).bins)


@settings
@hypothesis.given(batch=st.lists(st.tuples(user_keys, records), max_size=6))
def test_batches_of_different_records(db, batch):
    for user_key, bins in batch:
        db.put(("test", "batches", user_key), bins, policy={"exists": 2})
    last = dict(batch)
    h = db.batch_read([("test", "batches", user_key) for user_key, _ in batch])
    assert h.all_user_keys() == [user_key for user_key, _ in batch]
    assert same(h.to_dict(), last)
    assert all(
        same(bins, last[user_key])
        for (user_key, _), bins in zip(batch, h.to_list(), strict=True)
    )
