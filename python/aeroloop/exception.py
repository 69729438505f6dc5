# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package.

Every instance carries `result_code` (also as `code`): the server's code, or -1 for an
error that no server reported; `in_doubt`: a write may have been applied; `node`: the
node that was asked, or None; `attempts`: how often the request was tried. Instances can
be pickled and copied with all of these, and with their cause.
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AdminError",
    "AerospikeError",
    "AerospikeIndexError",
    "AerospikeTimeoutError",
    "BackpressureError",
    "BinExistsError",
    "BinNameError",
    "BinNotFound",
    "BinTypeError",
    "ClientError",
    "ClusterError",
    "FilteredOut",
    "IndexFoundError",
    "IndexNotFound",
    "InvalidArgError",
    "QueryAbortedError",
    "QueryError",
    "RecordError",
    "RecordExistsError",
    "RecordGenerationError",
    "RecordNotFound",
    "RecordTooBig",
    "RustPanicError",
    "ServerError",
    "UDFError",
]


class AerospikeError(Exception):
    """Base of all errors of this package."""

    result_code: int = -1
    in_doubt: bool = False
    node: str | None = None
    attempts: int = 0

    @property
    def code(self) -> int:
        """The result code; the name that the official client uses."""
        return self.result_code

    def __reduce__(self) -> tuple[Any, ...]:
        state = dict(self.__dict__)
        if self.__cause__ is not None:
            state["__cause__"] = self.__cause__
        return (type(self), self.args, state)


class ClientError(AerospikeError):
    """An error on the client's side: wrong state, not connected, cancelled."""


class BackpressureError(ClientError):
    """No slot became free within the queue time-out."""


class RustPanicError(ClientError):
    """Never raised; the name exists for `except` clauses written for the peer."""


class ServerError(AerospikeError):
    """The server refused the command for a reason without a class of its own."""


class AerospikeIndexError(ServerError):
    """An error with a secondary index."""


class IndexNotFound(AerospikeIndexError):
    """The secondary index does not exist."""


class IndexFoundError(AerospikeIndexError):
    """The secondary index exists already."""


class QueryError(ServerError):
    """A query failed."""


class QueryAbortedError(QueryError):
    """The server ended a query early."""


class AdminError(ServerError):
    """A user, role or login command failed."""


class UDFError(ServerError):
    """A user-defined function failed."""


class RecordError(AerospikeError):
    """An error with one record."""


class RecordNotFound(RecordError):
    """The record does not exist."""


class RecordExistsError(RecordError):
    """The record exists already."""


class RecordGenerationError(RecordError):
    """The record has another generation than expected."""


class RecordTooBig(RecordError):
    """The record is larger than the server's limit."""


class BinNameError(RecordError):
    """A bin name is too long or not allowed."""


class BinExistsError(RecordError):
    """The bin exists already."""


class BinNotFound(RecordError):
    """The bin does not exist."""


class BinTypeError(RecordError):
    """The operation does not fit the type of the bin."""


class FilteredOut(RecordError):
    """A filter expression excluded the record."""


class ClusterError(AerospikeError):
    """No node could be reached, or a connection was lost."""


# A program that catches the builtin TimeoutError (which asyncio's is from 3.11 on)
# means this one too.
class AerospikeTimeoutError(AerospikeError, builtins.TimeoutError):
    """The command did not finish in time."""


class InvalidArgError(AerospikeError):
    """An argument has the right type and a value that cannot be used."""


_DEPRECATED = {
    "TimeoutError": AerospikeTimeoutError,
    "IndexError": AerospikeIndexError,
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> type[AerospikeError]:
        try:
            found = _DEPRECATED[name]
        except KeyError:
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}"
            ) from None
        import warnings

        warnings.warn(
            f"{name} is deprecated, use {found.__name__}",
            DeprecationWarning,
            stacklevel=2,
        )
        return found
