# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers for the joints of a chain, as callers give them."""

from __future__ import annotations

import numpy as np

from ik_node.errors import ParameterError
from ik_node.model.chain import Chain
from ik_node.text import shown


def one_per_joint(chain: Chain, values: tuple[float, ...], what: str) -> np.ndarray:
    """
    Return one number per joint, (n,), from one for all or one for each.

    Raises
    ------
    ParameterError
        If there are neither one nor n numbers, or one is not finite.

    """
    array = real_array(values)
    if array is None or array.shape not in ((1,), (chain.n,)) or not np.isfinite(array).all():
        raise ParameterError(f'{what} needs 1 or {chain.n} finite numbers, got {shown(values)}')
    return np.broadcast_to(array, (chain.n,)).copy()


def real_array(values: object) -> np.ndarray | None:
    """Return a copy as array of floats; None for what is not an array of real numbers."""
    try:
        array = np.asarray(values)
        return None if array.dtype.kind == 'c' else array.astype(float)
    except (TypeError, ValueError, OverflowError):
        return None
