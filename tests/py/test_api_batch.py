# SPDX-License-Identifier: Apache-2.0
"""batch_read and LazyBatchRecords (section 8 of the API)."""

import gc
import sys
import threading
import weakref

import pytest

import aeroloop
from aeroloop import InvalidArgError, LazyBatchRecords


@pytest.fixture(scope="module")
def stored(client):
    keys = [("test", "batch", f"k{i}") for i in range(20)]
    for i, key in enumerate(keys):
        client.put(key, {"i": i, "s": f"v{i}", "l": [i, str(i)]})
    return keys


MISSING = ("test", "batch", "nobody")


def bins(i):
    return {"i": i, "s": f"v{i}", "l": [i, str(i)]}


def test_dict_view(db, stored):
    h = db.batch_read([*stored, MISSING])
    assert type(h) is LazyBatchRecords
    assert len(h) == h.found_count() == 20
    assert h.requested == len(h.batch_records) == 21
    whole = {f"k{i}": bins(i) for i in range(20)}
    assert h.to_dict() == whole
    assert list(h) == list(whole) == list(h.keys())
    assert list(h.values()) == list(whole.values())
    assert list(h.items()) == list(whole.items())
    assert h["k3"] == bins(3)
    assert "k3" in h
    assert "nobody" not in h
    assert h.get("k3") == bins(3)
    assert h.get("nobody") is None
    assert h.get("nobody", default=7) == 7
    assert h.get(key="nobody", default=[]) == []
    with pytest.raises(KeyError, match="nobody"):
        h["nobody"]
    with pytest.raises(KeyError, match="not a position"):
        h[0]
    with pytest.raises(TypeError):
        h[[]]


def test_views_follow_the_request(db, stored):
    order = [stored[5], MISSING, stored[2], stored[5]]
    h = db.batch_read(order)
    assert h.to_list() == [bins(5), None, bins(2), bins(5)]
    assert h.all_user_keys() == ["k5", "nobody", "k2", "k5"]
    assert [r.result for r in h.batch_records] == [0, 2, 0, 0]
    assert [r.result for r in h.iter_records()] == [0, 2, 0, 0]
    assert h.found_count() == 3
    assert len(h) == 2


def test_batch_records(db, stored):
    h = db.batch_read([stored[1], MISSING])
    found, missing = h.batch_records
    digest = db.get(stored[1]).key.digest
    assert found.key == (*stored[1], digest)
    assert type(found.key) is tuple
    assert found.record == (found.key, {"gen": 1, "ttl": 4294967295}, bins(1))
    assert type(found.record) is tuple
    assert found.record is found.record
    assert found.in_doubt is missing.in_doubt is False
    assert missing.result == 2
    assert missing.record is None
    assert missing.key[:3] == MISSING
    assert h.batch_records is not h.batch_records
    assert h.batch_records[0] is not found
    assert "k1" in repr(found)


def test_to_dict_is_a_fresh_shallow_copy(db, stored):
    h = db.batch_read(stored)
    first = h.to_dict()
    second = h.to_dict()
    assert first is not second
    assert first["k1"] is second["k1"] is h["k1"]
    first.clear()
    assert len(h.to_dict()) == 20
    assert h.to_list()[1] is not h["k1"]


def test_release_cache(db, stored):
    h = db.batch_read(stored)
    before = h["k1"]
    view = h.keys()
    assert h.release_cache() is None
    h.release_cache()
    assert h["k1"] == before
    assert h["k1"] is not before
    assert "k1" in view
    assert h.found_count() == 20


def test_merge_to_dict(db, stored):
    first = db.batch_read(stored[:2])
    second = db.batch_read([MISSING, stored[2]])
    merged = LazyBatchRecords.merge_to_dict([first, second])
    assert merged == [{"k0": bins(0), "k1": bins(1)}, {"k2": bins(2)}]
    assert merged[0]["k0"] is not first["k0"]
    assert LazyBatchRecords.merge_to_dict([]) == []
    assert LazyBatchRecords.merge_to_dict(iter([second])) == merged[1:]
    for bad in [[first, {}], [None], 5]:
        with pytest.raises(TypeError):
            LazyBatchRecords.merge_to_dict(bad)


def test_some_bins_and_header_only(db, stored):
    h = db.batch_read(stored[:2], ["s", "none"])
    assert h.to_list() == [{"s": "v0"}, {"s": "v1"}]
    h = db.batch_read([stored[0], MISSING], [])
    assert h.to_list() == [{}, None]
    assert h.to_dict() == {"k0": {}}
    assert h.found_count() == len(h) == 1
    assert h.batch_records[0].record[1]["gen"] == 1
    h = db.batch_read(stored[:1], ("i",))
    assert h.to_dict() == {"k0": {"i": 0}}


def test_digest_only_keys(db, stored):
    digest = db.exists(stored[4]).key.digest
    h = db.batch_read([("test", "batch", None, digest), stored[5]])
    assert h.all_user_keys() == [None, "k5"]
    assert h.to_list() == [bins(4), bins(5)]
    assert h.to_dict() == {"k5": bins(5)}
    assert h.found_count() == 2
    assert len(h) == 1


def test_same_user_key_of_two_sets(db, key):
    db.put(("test", "one", "same"), {"a": 1})
    db.put(("test", "two", "same"), {"a": 2})
    h = db.batch_read([("test", "one", "same"), ("test", "two", "same")])
    assert h.to_dict() == {"same": {"a": 2}}
    assert h.to_list() == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("empty", [[], (), iter([]), (k for k in ())])
def test_no_keys(db, empty):
    h = db.batch_read(empty)
    assert h.found_count() == len(h) == h.requested == 0
    assert h.to_list() == h.batch_records == []
    assert h.to_dict() == {}
    assert list(h.iter_records()) == []


def test_one_key_and_many(db, stored):
    assert db.batch_read([stored[0]]).to_dict() == {"k0": bins(0)}
    h = db.batch_read([stored[0]] * 1000)
    assert h.requested == 1000
    assert h.found_count() == 1000
    assert len(h) == 1
    assert all(r == bins(0) for r in h.to_list())


def test_keys_are_any_iterable(db, stored):
    for keys in [tuple(stored[:2]), iter(stored[:2]), (k for k in stored[:2])]:
        assert db.batch_read(keys).to_list() == [bins(0), bins(1)]
    assert db.batch_read({stored[0]: 1}).to_list() == [bins(0)]
    for bad in [None, 5, stored[0]]:
        with pytest.raises(TypeError):
            db.batch_read(bad)

    def broken():
        yield stored[0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.batch_read(broken())


def test_mutable_user_keys_are_copied(db, key):
    db.put((*key[:2], b"bb"), {"a": 1})
    buffer = bytearray(b"bb")
    h = db.batch_read([(*key[:2], buffer), (*key[:2], memoryview(b"bb"))])
    buffer[:] = b"xxxx"
    assert h.all_user_keys() == [b"bb", b"bb"]
    assert h.to_dict() == {b"bb": {"a": 1}}


def test_mixed_key_types_and_layouts(db, key):
    keys = []
    for i in range(50):
        user_key = [i, f"s{i}", b"b%d" % i][i % 3]
        names = ["a", "b", "c", "d", "e", "f"][: 1 + i % 6]
        if i % 4 == 0:
            names.reverse()
        keys.append((*key[:2], user_key))
        db.put(keys[-1], {name: [i, name] for name in names})
    h = db.batch_read(keys)
    for i, record in enumerate(h.to_list()):
        names = ["a", "b", "c", "d", "e", "f"][: 1 + i % 6]
        assert record == {name: [i, name] for name in names}
        assert db.get(keys[i]).bins == record
    assert set(h) == {k[2] for k in keys}


def test_the_caller_may_change_what_it_passed(db, stored):
    keys = list(stored)
    names = ["i"]
    h = db.batch_read(keys, names)
    keys.clear()
    names.append("s")
    assert h.to_list() == [{"i": i} for i in range(20)]
    assert h.all_user_keys() == [k[2] for k in stored]


def test_records_outlive_the_handle(db, stored):
    records = db.batch_read(stored[:3]).batch_records
    iterator = db.batch_read(stored[:3]).iter_records()
    gc.collect()
    assert [r.record[2] for r in records] == [bins(0), bins(1), bins(2)]
    assert next(iterator).record[2] == bins(0)


def test_handle_outlives_the_client(hosts, stored):
    with aeroloop.client({"hosts": hosts}).connect() as other:
        h = other.batch_read(stored)
    del other
    gc.collect()
    assert h.to_list() == [bins(i) for i in range(20)]


def test_cannot_be_made_by_hand():
    for cls in [LazyBatchRecords, aeroloop._core.BatchRecord, aeroloop._core.Operation]:
        with pytest.raises(TypeError):
            cls()
        with pytest.raises(TypeError):
            cls.__new__(cls)


def test_matches_mapping_patterns(db, stored):
    match db.batch_read(stored[:2]):
        case {"k1": {"i": value}}:
            assert value == 1
        case _:
            pytest.fail("no match")


def test_is_weakly_referenced_and_hashed_by_identity(db, stored):
    h = db.batch_read(stored[:1])
    assert len({h, h}) == 1
    reference = weakref.ref(h)
    del h
    gc.collect()
    assert reference() is None


def test_threads_share_one_handle(db, stored):
    h = db.batch_read(stored * 20)
    expected = {f"k{i}": bins(i) for i in range(20)}
    failures = []
    barrier = threading.Barrier(8)

    def work():
        barrier.wait()
        for _ in range(30):
            if h.to_dict() != expected or h["k7"] != bins(7):
                failures.append("wrong")
            h.release_cache()
            if h.batch_records[21].record[2] != bins(1):
                failures.append("wrong record")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_too_many_bins_and_bad_lists(db, stored):
    with pytest.raises(TypeError):
        db.batch_read(stored, "i")
    with pytest.raises(TypeError):
        db.batch_read(stored, [1])
    with pytest.raises((ValueError, InvalidArgError)):
        db.batch_read(stored, ["x" * 16])


def test_reference_counts_are_flat(db, stored):
    h = db.batch_read(stored)
    h.to_dict()
    name = next(iter(h["k1"]))
    before = sys.getrefcount(name), sys.getrefcount(None), sys.getrefcount(stored[0])
    for _ in range(200):
        g = db.batch_read(stored)
        g.to_dict()
        g.to_list()
        assert len(g.batch_records) == 20
        del g
    gc.collect()
    after = sys.getrefcount(name), sys.getrefcount(None), sys.getrefcount(stored[0])
    assert abs(after[0] - before[0]) < 100
    assert abs(after[1] - before[1]) < 200
    assert abs(after[2] - before[2]) < 5
