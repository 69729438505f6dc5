# SPDX-License-Identifier: Apache-2.0
"""The result of `LazyBatchRecords.to_numpy`."""

from __future__ import annotations

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
