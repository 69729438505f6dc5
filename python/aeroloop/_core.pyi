# SPDX-License-Identifier: Apache-2.0
# Types of the extension. What a method of AsyncClient returns is a CoroutineOperation;
# to a type checker the methods are coroutine functions, as to inspect.
from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from contextvars import Context
from types import TracebackType
from typing import (
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

import numpy as np
from typing_extensions import Self, disjoint_base

from .numpy_batch import NumpyBatchRecords, ValidatedNumpyBatchRecords
from .types import (
    AdminPolicy,
    BatchDeleteMeta,
    BatchPolicy,
    BatchWriteResult,
    ClientConfig,
    ExistsResult,
    InfoNodeResult,
    OperateOrderedResult,
    ReadPolicy,
    Record,
    WriteMeta,
    WritePolicy,
)

__version__: Final[str]

_T_co = TypeVar("_T_co", covariant=True)
_D = TypeVar("_D")
_UserKey: TypeAlias = str | int | bytes | bytearray | memoryview
_Key: TypeAlias = (
    tuple[str, str, _UserKey]
    | tuple[str, str, _UserKey | None, bytes | bytearray | None]
)
_BatchRecordIn: TypeAlias = (
    tuple[_Key, Mapping[str, Any]] | tuple[_Key, Mapping[str, Any], WriteMeta | None]
)
_StoredKey: TypeAlias = tuple[str, str, str | int | bytes | None, bytes]
_RawRecord: TypeAlias = tuple[_StoredKey, dict[str, int], dict[str, Any]]

@disjoint_base
class Client:
    def __init__(self, config: ClientConfig | Mapping[str, Any]) -> None: ...
    def connect(
        self,
        username: str | None = None,
        password: str | None = None,
    ) -> Self: ...
    def put(
        self,
        key: _Key,
        bins: Mapping[str, Any],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def get(self, key: _Key, policy: ReadPolicy | None = None) -> Record: ...
    def select(
        self,
        key: _Key,
        bins: list[str] | tuple[str, ...],
        policy: ReadPolicy | None = None,
    ) -> Record: ...
    def exists(self, key: _Key, policy: ReadPolicy | None = None) -> ExistsResult: ...
    def remove(
        self,
        key: _Key,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def touch(
        self,
        key: _Key,
        val: int = 0,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def append(
        self,
        key: _Key,
        bin: str,
        val: str | bytes | bytearray,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def prepend(
        self,
        key: _Key,
        bin: str,
        val: str | bytes | bytearray,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def increment(
        self,
        key: _Key,
        bin: str,
        offset: float,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def remove_bin(
        self,
        key: _Key,
        bin_names: list[str] | tuple[str, ...],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    def operate(
        self,
        key: _Key,
        ops: list[dict[str, Any]],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> Record: ...
    def operate_ordered(
        self,
        key: _Key,
        ops: list[dict[str, Any]],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> OperateOrderedResult: ...
    def batch_read(
        self,
        keys: Iterable[_Key],
        bins: list[str] | tuple[str, ...] | None = None,
        policy: BatchPolicy | None = None,
    ) -> LazyBatchRecords: ...
    def batch_write(
        self,
        records: list[_BatchRecordIn],
        policy: BatchPolicy | None = None,
        retry: int = 0,
    ) -> BatchWriteResult: ...
    def batch_write_numpy(
        self,
        data: np.ndarray[Any, Any],
        namespace: str,
        set_name: str,
        _dtype: np.dtype[Any],
        key_field: str = "_key",
        policy: BatchPolicy | None = None,
        retry: int = 0,
    ) -> BatchWriteResult: ...
    def batch_operate(
        self,
        keys: Iterable[_Key],
        ops: list[dict[str, Any]],
        policy: BatchPolicy | None = None,
    ) -> BatchWriteResult: ...
    def batch_remove(
        self,
        keys: Iterable[_Key | tuple[_Key, BatchDeleteMeta]],
        policy: BatchPolicy | None = None,
    ) -> BatchWriteResult: ...
    def info_all(
        self,
        command: str,
        policy: AdminPolicy | None = None,
    ) -> list[InfoNodeResult]: ...
    def info_random_node(
        self,
        command: str,
        policy: AdminPolicy | None = None,
    ) -> str: ...
    def ping(self) -> bool: ...
    def close(self) -> None: ...
    def is_connected(self) -> bool: ...
    def get_node_names(self) -> list[str]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> Literal[False]: ...

@disjoint_base
class AsyncClient:
    def __init__(self, config: ClientConfig | Mapping[str, Any]) -> None: ...
    async def connect(
        self,
        username: str | None = None,
        password: str | None = None,
    ) -> Self: ...
    async def put(
        self,
        key: _Key,
        bins: Mapping[str, Any],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def get(self, key: _Key, policy: ReadPolicy | None = None) -> Record: ...
    async def select(
        self,
        key: _Key,
        bins: list[str] | tuple[str, ...],
        policy: ReadPolicy | None = None,
    ) -> Record: ...
    async def exists(
        self,
        key: _Key,
        policy: ReadPolicy | None = None,
    ) -> ExistsResult: ...
    async def remove(
        self,
        key: _Key,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def touch(
        self,
        key: _Key,
        val: int = 0,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def append(
        self,
        key: _Key,
        bin: str,
        val: str | bytes | bytearray,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def prepend(
        self,
        key: _Key,
        bin: str,
        val: str | bytes | bytearray,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def increment(
        self,
        key: _Key,
        bin: str,
        offset: float,
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def remove_bin(
        self,
        key: _Key,
        bin_names: list[str] | tuple[str, ...],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> None: ...
    async def operate(
        self,
        key: _Key,
        ops: list[dict[str, Any]],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> Record: ...
    async def operate_ordered(
        self,
        key: _Key,
        ops: list[dict[str, Any]],
        meta: WriteMeta | None = None,
        policy: WritePolicy | None = None,
    ) -> OperateOrderedResult: ...
    async def batch_read(
        self,
        keys: Iterable[_Key],
        bins: list[str] | tuple[str, ...] | None = None,
        policy: BatchPolicy | None = None,
    ) -> LazyBatchRecords: ...
    async def batch_write(
        self,
        records: list[_BatchRecordIn],
        policy: BatchPolicy | None = None,
        retry: int = 0,
    ) -> BatchWriteResult: ...
    async def batch_write_numpy(
        self,
        data: np.ndarray[Any, Any],
        namespace: str,
        set_name: str,
        _dtype: np.dtype[Any],
        key_field: str = "_key",
        policy: BatchPolicy | None = None,
        retry: int = 0,
    ) -> BatchWriteResult: ...
    async def batch_operate(
        self,
        keys: Iterable[_Key],
        ops: list[dict[str, Any]],
        policy: BatchPolicy | None = None,
    ) -> BatchWriteResult: ...
    async def batch_remove(
        self,
        keys: Iterable[_Key | tuple[_Key, BatchDeleteMeta]],
        policy: BatchPolicy | None = None,
    ) -> BatchWriteResult: ...
    async def info_all(
        self,
        command: str,
        policy: AdminPolicy | None = None,
    ) -> list[InfoNodeResult]: ...
    async def info_random_node(
        self,
        command: str,
        policy: AdminPolicy | None = None,
    ) -> str: ...
    async def ping(self) -> bool: ...
    async def close(self) -> None: ...
    def is_connected(self) -> bool: ...
    def get_node_names(self) -> list[str]: ...
    def __aenter__(self) -> CoroutineOperation[Self]: ...
    def __aexit__(self, *args: object) -> CoroutineOperation[Literal[False]]: ...

def client(config: ClientConfig | Mapping[str, Any]) -> Client: ...
def async_client(config: ClientConfig | Mapping[str, Any]) -> AsyncClient: ...
def _shutdown() -> None: ...

@disjoint_base
class Operation(Awaitable[_T_co]):
    def __await__(self) -> Generator[Any, Any, _T_co]: ...
    def __iter__(self) -> Generator[Any, Any, _T_co]: ...
    def __next__(self) -> Self: ...
    @overload
    def throw(
        self,
        typ: type[BaseException],
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any: ...
    @overload
    def throw(
        self,
        typ: BaseException,
        val: None = None,
        tb: TracebackType | None = None,
        /,
    ) -> Any: ...
    def close(self) -> None: ...
    def result(self) -> _T_co: ...
    def exception(self) -> BaseException | None: ...
    def done(self) -> bool: ...
    def cancelled(self) -> bool: ...
    def cancel(self, msg: Any | None = None) -> bool: ...
    def add_done_callback(
        self, fn: Callable[[Self], object], /, *, context: Context | None = None
    ) -> None: ...
    def remove_done_callback(self, fn: Callable[[Self], object], /) -> int: ...
    def get_loop(self) -> Any: ...
    def _make_cancelled_error(self) -> BaseException: ...
    _asyncio_future_blocking: bool | None
    @property
    def __name__(self) -> str: ...
    @property
    def __qualname__(self) -> str: ...
    def __class_getitem__(cls, item: Any, /) -> Any: ...

@final
class CoroutineOperation(Operation[_T_co], Coroutine[Any, Any, _T_co]):
    def send(self, value: Any, /) -> Any: ...

@final
class AsyncMethod:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    @property
    def __name__(self) -> str: ...
    @property
    def __qualname__(self) -> str: ...
    @property
    def __text_signature__(self) -> str | None: ...
    @property
    def _is_coroutine(self) -> object: ...
    @property
    def _is_coroutine_marker(self) -> object: ...

@final
class LoopQueue:
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...

@final
class BatchRecord:
    @property
    def key(self) -> _StoredKey: ...
    @property
    def result(self) -> int: ...
    @property
    def record(self) -> _RawRecord | None: ...
    @property
    def in_doubt(self) -> bool: ...

@final
class BatchRecordIterator:
    def __iter__(self) -> Self: ...
    def __next__(self) -> BatchRecord: ...

@final
class LazyBatchRecords:
    @property
    def batch_records(self) -> list[BatchRecord]: ...
    @property
    def requested(self) -> int: ...
    def to_dict(self) -> dict[Any, dict[str, Any]]: ...
    def to_list(self) -> list[dict[str, Any] | None]: ...
    @overload
    def to_numpy(
        self,
        dtype: np.dtype[Any],
        *,
        strict: bool = False,
        validity: Literal[False] = False,
        overflow: Literal["raise", "clip"] = "raise",
    ) -> NumpyBatchRecords: ...
    @overload
    def to_numpy(
        self,
        dtype: np.dtype[Any],
        *,
        strict: bool = False,
        validity: Literal[True],
        overflow: Literal["raise", "clip"] = "raise",
    ) -> ValidatedNumpyBatchRecords: ...
    def iter_records(self) -> BatchRecordIterator: ...
    def all_user_keys(self) -> list[str | int | bytes | None]: ...
    def found_count(self) -> int: ...
    def keys(self) -> KeysView[Any]: ...
    def values(self) -> ValuesView[dict[str, Any]]: ...
    def items(self) -> ItemsView[Any, dict[str, Any]]: ...
    @overload
    def get(self, key: object, default: None = None) -> dict[str, Any] | None: ...
    @overload
    def get(self, key: object, default: _D) -> dict[str, Any] | _D: ...
    def release_cache(self) -> None: ...
    @staticmethod
    def merge_to_dict(
        handles: Iterable[LazyBatchRecords], /
    ) -> list[dict[Any, dict[str, Any]]]: ...
    def __getitem__(self, key: object, /) -> dict[str, Any]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
