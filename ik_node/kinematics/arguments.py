# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of callers before they reach compiled code."""

from __future__ import annotations

from collections.abc import Sequence
import difflib

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.text import quote
from ik_node.model.chain import Chain


def joint_vector(chain: Chain, q: np.ndarray, what: str = 'q', many: bool = False) -> np.ndarray:
    """
    Return `q` as a new float array (n,), or (N, n) with `many`.

    Raises
    ------
    ParameterError
        If the shape is wrong or a number is not finite.

    """
    # A copy: numba would compile another version for strided or read-only arrays.
    try:
        q = np.array(q, dtype=float, order='C')
    except (TypeError, ValueError):
        raise ParameterError(f'{what} needs numbers, got {quote(q)}') from None
    if q.shape[-1:] != (chain.n,) or q.ndim != 1 + many:
        raise ParameterError(f'{what} needs {chain.n} numbers, one per joint, got shape {q.shape}')
    if not np.isfinite(q).all():
        where = np.argwhere(~np.isfinite(q))[0]
        row = f' in row {where[0]}' if many else ''
        raise ParameterError(f'{what} has {q[tuple(where)]} for the joint '
                             f'{quote(chain.joint_names[where[-1]])}{row}; '
                             'its numbers must be finite')
    return q


def indices(names: Sequence[str], known: tuple[str, ...], what: str) -> list[int]:
    """Return the indices of `names` in `known`; each name may be given once."""
    if isinstance(names, str):
        raise ParameterError(f'{what}s are given as a sequence of names, got the string '
                             f'{quote(names)}')
    for name in names:
        if name not in known:
            raise ParameterError(f'the {what} {quote(name)} is unknown'
                                 + did_you_mean(name, known))
    if len(set(names)) < len(names):
        raise ParameterError(f'the {what}s {quote(list(names))} have a name twice; give each once')
    return [known.index(name) for name in names]


def one_of(value: object, allowed: tuple[str, ...], what: str) -> str:
    """Return `value` if it is one of the allowed words, else raise ParameterError."""
    if value not in allowed:
        raise ParameterError(f'{what} is {quote(value)}; it is one of '
                             + ', '.join(map(quote, allowed)))
    return value


def did_you_mean(name: object, known: tuple[str, ...]) -> str:
    """Return the end of a sentence about an unknown name: similar names, or the known ones."""
    near = difflib.get_close_matches(str(name), known, 3, 0.5)
    if near:
        return f'; did you mean {" or ".join(map(quote, near))}?'
    return f'; there are {", ".join(map(quote, known[:8]))}{", ..." if len(known) > 8 else ""}'
