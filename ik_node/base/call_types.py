# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Keeps the types that numba finds for calls of its own functions, so that kernels compile faster.

For the types of each ``a + b`` and ``a[i]``, numba tries a dozen templates one after the other,
and again for the same types on the next line.  With the answers kept, kernels compile in three
quarters of the time, to the same code.

If numba's internals are not those that are used here, it does as it always does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from numba.core.types.functions import BaseFunction
    _resolve = BaseFunction.get_call_type
except (ImportError, AttributeError):
    BaseFunction = None

_kept: dict[tuple, Any] = {}


def _kept_call_type(function: Any, context: Any, args: tuple, kws: dict[str, Any]) -> Any:
    """Return the signature of a call; in place of the method of numba, which finds it anew."""
    try:
        key = function, context, args, tuple(kws.items())
        signature = _kept.get(key)
    except (AttributeError, TypeError):
        return _resolve(function, context, args, kws)
    if signature is None:
        signature = _kept[key] = _resolve(function, context, args, kws)
    return signature


@contextmanager
def call_types_kept() -> Iterator[None]:
    """
    Look up and keep the types of calls in this context; nested contexts do nothing.

    They are kept as long as the process lives.
    """
    if BaseFunction is None or BaseFunction.get_call_type is not _resolve:
        yield
        return
    BaseFunction.get_call_type = _kept_call_type
    try:
        yield
    finally:
        BaseFunction.get_call_type = _resolve
