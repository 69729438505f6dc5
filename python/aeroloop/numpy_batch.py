# SPDX-License-Identifier: Apache-2.0
"""The result of `LazyBatchRecords.to_numpy`."""

from __future__ import annotations

import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NumpyBatchRecords"]


class NumpyBatchRecords:
    """One row an asked key, in the order of the request.

    `batch_records` is the structured array, `meta` has the fields gen and ttl,
    `result_codes` holds 0 for a row that was found.
    """

    __slots__ = ("_map", "batch_records", "meta", "result_codes")

    def __init__(
        self,
        batch_records: NDArray[np.void],
        meta: NDArray[np.void],
        result_codes: NDArray[np.int32],
        _map: dict[Any, int],
    ) -> None:
        self.batch_records = batch_records
        self.meta = meta
        self.result_codes = result_codes
        self._map = _map

    def get(self, key: str | int | bytes) -> np.void:
        """Return the row of a user key; KeyError when it was not asked for."""
        row = self._map.get(key)
        if row is None:
            raise KeyError(
                f"key {key!r} not found in NumpyBatchRecords "
                f"(available keys: {len(self._map)})"
            )
        found: np.void = self.batch_records[row]
        return found

    def __len__(self) -> int:
        return len(self.batch_records)

    def __iter__(self) -> Iterator[np.void]:
        return iter(self.batch_records)

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __repr__(self) -> str:
        ok = int((self.result_codes == 0).sum())
        fields = list(self.batch_records.dtype.names or ())
        return f"NumpyBatchRecords(count={len(self)}, ok={ok}, fields={fields})"


class ValidatedNumpyBatchRecords(NumpyBatchRecords):
    """The same, made with `validity=True`.

    `validity` is a bool array (rows, fields): True where the record had a value that
    was written, so that an absent cell is told apart from a stored 0.
    """

    __slots__ = ("validity",)

    def __init__(
        self,
        batch_records: NDArray[np.void],
        meta: NDArray[np.void],
        result_codes: NDArray[np.int32],
        _map: dict[Any, int],
        validity: NDArray[np.bool_],
    ) -> None:
        super().__init__(batch_records, meta, result_codes, _map)
        self.validity = validity


_ALLOWED_KINDS = {"i", "u", "f", "S", "V"}


def _check_dtype(dtype: np.dtype[Any]) -> None:
    for name in dtype.names or ():
        base = dtype[name].base
        if base.kind not in _ALLOWED_KINDS:
            raise TypeError(
                f"dtype field '{name}' must be numeric (int/float) or "
                f"fixed-length bytes, got {dtype[name]} (kind='{base.kind}')"
            )


def _map_key(record: Any, row: int, key_map: dict[Any, int]) -> Any:
    """Enter the user key of a record into the map; a record without one has its row."""
    if record.key and len(record.key) >= 3:
        key = record.key[2]
    else:
        warnings.warn(
            f"record {row} has no usable key ({record.key!r}): its row is used "
            "instead, and get() does not find it by a user key",
            stacklevel=4,
        )
        key = row
    if key in key_map:
        warnings.warn(
            f"user key {key!r} of record {row} is that of record {key_map[key]} too, "
            "which get() does not find any more",
            stacklevel=4,
        )
    key_map[key] = row
    return key


def _warn_of_differences(row: int, fields: set[str], bins: dict[str, Any]) -> None:
    missing = fields - bins.keys()
    unknown = bins.keys() - fields
    if missing:
        warnings.warn(
            f"record {row} has no bins for the fields {sorted(missing)}: zeros",
            stacklevel=4,
        )
    if unknown:
        warnings.warn(
            f"record {row} has bins without a field: {sorted(unknown)}", stacklevel=4
        )


def _fill_row(
    data: NDArray[np.void], row: int, fields: set[str], key: Any, bins: dict[str, Any]
) -> None:
    for name, value in bins.items():
        if name not in fields or value is None:
            continue
        try:
            data[row][name] = value
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(
                f"cannot write {value!r} to field '{name}' ({data.dtype[name]}) of "
                f"record {row}, user key {key!r}: {error}"
            ) from error


def _batch_records_to_numpy(
    batch_records_obj: Any, dtype: np.dtype[Any], keys: Any, *, strict: bool = False
) -> NumpyBatchRecords:
    """Fill arrays from records that are Python objects already.

    `LazyBatchRecords.to_numpy` does not use it: it fills from the bytes of the wire.
    Here NumPy casts the values. `keys` is not looked at.
    """
    import numpy as np

    _check_dtype(dtype)
    records = batch_records_obj.batch_records
    data = np.zeros(len(records), dtype)
    meta = np.zeros(len(records), [("gen", "u4"), ("ttl", "u4")])
    codes = np.zeros(len(records), np.int32)
    fields = set(dtype.names or ())
    key_map: dict[Any, int] = {}
    for row, record in enumerate(records):
        codes[row] = record.result
        key = _map_key(record, row, key_map)
        if record.result != 0 or record.record is None:
            continue
        _, record_meta, bins = record.record
        if record_meta:
            meta[row] = (record_meta.get("gen", 0), record_meta.get("ttl", 0))
        if bins:
            if strict:
                _warn_of_differences(row, fields, bins)
            _fill_row(data, row, fields, key, bins)
    return NumpyBatchRecords(data, meta, codes, key_map)
