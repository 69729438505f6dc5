# SPDX-License-Identifier: Apache-2.0
"""The sync client under the name of the peer's module."""

from ._core import Client

__all__ = ["Client"]
