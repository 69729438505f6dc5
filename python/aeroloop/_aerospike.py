# SPDX-License-Identifier: Apache-2.0
"""What the peer has in its native module, under the same name. Ours is `_core`."""

from ._core import AsyncClient as AsyncClient
from ._core import BatchRecord as BatchRecord
from ._core import Client as Client
from ._core import LazyBatchRecords as LazyBatchRecords
from .constants import *  # noqa: F403
from .exception import *  # noqa: F403
from .exception import AerospikeIndexError as IndexError
from .exception import AerospikeTimeoutError as TimeoutError

_ALIASES = (IndexError, TimeoutError)
