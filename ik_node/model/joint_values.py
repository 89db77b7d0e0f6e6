# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check per-joint numbers that callers give."""

from __future__ import annotations

import numpy as np

from ik_node.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.text import shown


def one_per_joint(chain: Chain, values: tuple[float, ...], what: str) -> np.ndarray:
    """
    Return one number per joint, (n,); a single number holds for all joints.

    Raises
    ------
    ParameterError
        If there are neither 1 nor n numbers, or one is not finite.

    """
    array = real_array(values)
    if array is None or array.shape not in ((1,), (chain.n,)) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs 1 or {chain.n} finite numbers, got {shown(values)}')
    return np.broadcast_to(array, (chain.n,)).copy()


def real_array(values: object) -> np.ndarray | None:
    """Return a copy as an array of floats, or None if it cannot be converted."""
    try:
        array = np.asarray(values)
        return None if array.dtype.kind == 'c' else array.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None
