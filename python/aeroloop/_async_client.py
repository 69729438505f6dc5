# SPDX-License-Identifier: Apache-2.0
"""The async client under the name of the peer's module."""

from ._core import AsyncClient

__all__ = ["AsyncClient"]
