# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept of numba's type inference while kernels compile."""

import subprocess
import sys

from numba import types
from numba.core.types.functions import BaseFunction
import numpy as np
import pytest

from ik_node.base import compilation
from ik_node.base.compilation import call_types_kept
from ik_node.kinematics.kernels import compiled, inner

USUAL = BaseFunction.get_call_type
OTHER_NUMBA = """
import numba
from numba.core.types import functions
usual, resolve = functions.BaseFunction, functions.BaseFunction.get_call_type
{change}  # as in a numba that is built in another way
from ik_node.base.compilation import call_types_kept
functions.BaseFunction, usual.get_call_type = usual, resolve
with call_types_kept():
    assert usual.get_call_type is resolve
from ik_node.kinematics.kernels import compiled
print(compiled(lambda x: x + 1.0)(3.0))
"""


def test_numba_is_asked_once_for_each_signature(monkeypatch):
    """Also by functions that others call; afterwards all is as before."""
    asked = []

    def resolve(function, context, args, kws):
        asked.append((function, args))
        return USUAL(function, context, args, kws)
    monkeypatch.setattr(compilation, '_resolve', resolve)
    monkeypatch.setattr(BaseFunction, 'get_call_type', resolve)
    monkeypatch.setattr(compilation, '_kept', {})

    @inner
    def twice(x):
        return x + x

    @compiled
    def eightfold(x):
        return twice(x) + twice(x) + (twice(x) + twice(x))
    assert eightfold(1.5) == 12.0
    asked = [args for function, args in asked if 'add' in str(function)]
    assert asked == [(types.float64, types.float64)]
    assert BaseFunction.get_call_type is resolve


def test_signatures_are_kept_apart():
    """By the types of all arguments, and each function by itself."""
    @compiled
    def both(a, b):
        return a * b, a + b
    assert both(3, 4) == (12, 7) and isinstance(both(3, 4)[0], int)
    assert both(1.5, 2) == (3.0, 3.5)
    assert np.array_equal(both(np.ones(2), 2.0), ([2.0, 2.0], [3.0, 3.0]))
    assert both(1j, 2.0) == (2j, 2.0 + 1j)


def test_an_error_is_not_kept():
    """What cannot be compiled is refused each time, and contexts end."""
    @compiled
    def wrong(a):
        return a + 'x'
    for _ in range(2):
        with pytest.raises(Exception, match='(?i)no implementation'):
            wrong(1.0)
    with pytest.raises(KeyError), call_types_kept():
        with call_types_kept():
            pass
        assert BaseFunction.get_call_type is not USUAL
        raise KeyError
    assert BaseFunction.get_call_type is USUAL


@pytest.mark.parametrize('change', [
    'del functions.BaseFunction.get_call_type', 'del functions.BaseFunction'])
def test_with_another_numba_nothing_is_kept(change):
    done = subprocess.run([sys.executable, '-c', OTHER_NUMBA.format(change=change)],
                          capture_output=True, text=True)
    assert done.stdout.split() == ['4.0'], done.stderr


def test_what_has_no_key_is_not_kept():
    """Arguments in a list, and none by name."""
    asked = []
    before = dict(compilation._kept)

    class Function:
        __hash__ = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, '_resolve', lambda *args: asked.append(args))
        compilation._kept_call_type(Function(), None, [types.float64], {})
        compilation._kept_call_type(Function(), None, (types.float64,), None)
    assert len(asked) == 2 and compilation._kept == before
