# SPDX-License-Identifier: Apache-2.0
"""The types of results, and those of the dicts that calls take."""

from typing import Any, NamedTuple, TypeAlias, TypedDict


class AerospikeKey(NamedTuple):
    """What names a record."""

    namespace: str
    set_name: str
    user_key: str | int | bytes | None
    digest: bytes


class RecordMetadata(NamedTuple):
    """Generation and seconds left to live (4294967295: for ever)."""

    gen: int
    ttl: int


Bins: TypeAlias = dict[str, Any]


class Record(NamedTuple):
    """A record."""

    key: AerospikeKey | None
    meta: RecordMetadata | None
    bins: Bins | None


class ExistsResult(NamedTuple):
    """`meta` is None when the record does not exist."""

    key: AerospikeKey | None
    meta: RecordMetadata | None


class InfoNodeResult(NamedTuple):
    """What one node answered to an info command."""

    node_name: str
    error_code: int
    response: str


class BinTuple(NamedTuple):
    """One result of operate_ordered."""

    name: str
    value: Any


class OperateOrderedResult(NamedTuple):
    """What operate_ordered gives: a BinTuple for each op that has a result."""

    key: AerospikeKey | None
    meta: RecordMetadata | None
    ordered_bins: list[BinTuple]


class BatchRecord(NamedTuple):
    """What became of one record of a batch that writes: `result` is 0 or a code."""

    key: AerospikeKey | None
    result: int
    record: Record | None
    in_doubt: bool = False


class BatchRetryInfo(NamedTuple):
    """How often a batch was sent by `retry`, and what was left."""

    attempts: int = 1
    max_attempts: int = 1
    truncated_by_timeout: bool = False
    unresolved: int = 0


class BatchWriteResult(NamedTuple):
    """What a batch that writes gives: one BatchRecord a key, in order."""

    batch_records: list[BatchRecord]
    retry: BatchRetryInfo = BatchRetryInfo()


UserKey: TypeAlias = str | int
AerospikeRecord: TypeAlias = dict[str, Any]
BatchRecords: TypeAlias = dict[UserKey, AerospikeRecord]


class ReadPolicy(TypedDict, total=False):
    """Policy of get, select and exists. Times are milliseconds."""

    socket_timeout: int
    total_timeout: int
    max_retries: int
    sleep_between_retries: int
    timeout_delay: int
    filter_expression: Any
    replica: int
    read_mode_ap: int
    read_touch_ttl_percent: int
    auto_batch: bool


class WritePolicy(TypedDict, total=False):
    """Policy of all single-record writes. Times are milliseconds."""

    socket_timeout: int
    total_timeout: int
    max_retries: int
    sleep_between_retries: int
    timeout_delay: int
    durable_delete: bool
    key: int
    exists: int
    gen: int
    commit_level: int
    ttl: int
    filter_expression: Any
    read_mode_ap: int
    read_touch_ttl_percent: int


class BatchReadPolicy(TypedDict, total=False):
    """The keys of a batch policy that apply to each record read."""

    read_touch_ttl_percent: int
    filter_expression: Any


class BatchPolicy(TypedDict, total=False):
    """Policy of a batch. Times are milliseconds."""

    socket_timeout: int
    total_timeout: int
    max_retries: int
    sleep_between_retries: int
    timeout_delay: int
    filter_expression: Any
    allow_inline: bool
    allow_inline_ssd: bool
    respond_all_keys: bool
    allow_split: bool
    allow_all_bins: bool
    replica: int
    read_mode_ap: int
    read_touch_ttl_percent: int
    concurrency: int
    key: int
    exists: int
    gen: int
    commit_level: int
    durable_delete: bool
    ttl: int


class BatchDeletePolicy(TypedDict, total=False):
    """The keys of a batch policy that apply to each record removed."""

    key: int
    gen: int
    commit_level: int
    durable_delete: bool
    filter_expression: Any


class AdminPolicy(TypedDict, total=False):
    """Policy of info commands."""

    timeout: int


class WriteMeta(TypedDict, total=False):
    """What a write expects of the record, and how it is to be kept."""

    gen: int
    ttl: int
    key: int
    exists: int
    commit_level: int
    durable_delete: bool


class BatchDeleteMeta(TypedDict, total=False):
    """What batch_remove expects of one record, and how it is to be removed."""

    gen: int
    key: int
    commit_level: int
    durable_delete: bool


class ClientConfig(TypedDict, total=False):
    """Configuration of a client; `hosts` is required."""

    hosts: list[Any]
    cluster_name: str | None
    auth_mode: int
    user: str
    password: str
    timeout: int
    idle_timeout: int
    idle_timeout_ms: int
    max_conns_per_node: int
    min_conns_per_node: int
    conn_pools_per_node: int
    tend_interval: int
    use_services_alternate: bool
    max_concurrent_operations: int
    operation_queue_timeout_ms: int
    key_bytes_as: str
    auto_batch: bool
