# SPDX-License-Identifier: Apache-2.0
"""What the peer has in its native module, under the same name. Ours is `_core`."""

from . import constants, exception
from ._core import AsyncClient, BatchRecord, Client, LazyBatchRecords
from .constants import *  # noqa: F403
from .exception import *  # noqa: F403
from .exception import AerospikeIndexError as IndexError
from .exception import AerospikeTimeoutError as TimeoutError

__all__ = [
    "AsyncClient",
    "BatchRecord",
    "Client",
    "IndexError",
    "LazyBatchRecords",
    "TimeoutError",
]
__all__ += constants.__all__
__all__ += exception.__all__
