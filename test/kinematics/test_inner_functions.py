# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Inner functions are compiled as a part of those that call them, and only there."""

import subprocess
import sys

from numba import njit
import numpy as np

from ik_node.kinematics.kernels import allocating, inner, small

SCRIPT = """
from numba.core import typed_passes
taken = typed_passes.IRLegalization
del typed_passes.IRLegalization  # as in a numba that is built in another way
from ik_node.base.compilation import INNER_OPTIONS
typed_passes.IRLegalization = taken
from ik_node.kinematics.kernels import inner, NUMBA_OPTIONS
from numba import njit
assert 'pipeline_class' not in INNER_OPTIONS
square = inner(lambda x: x * x)
print(njit(**NUMBA_OPTIONS)(lambda x: square(x) + 1.0)(3.0))
"""


def has_machine_code(dispatcher) -> bool:
    """Return whether a function that is compiled once was translated by itself."""
    compiled, = dispatcher.overloads.values()
    engine = compiled.target_context.codegen()._engine
    return bool(engine.is_symbol_defined(compiled.fndesc.llvm_func_name))


def test_only_the_outermost_function_has_machine_code():
    """Of each kind; and all are called."""
    @inner
    def square(x):
        return x * x

    @small
    def fourth_power(x):
        return square(square(x))

    @allocating
    def copied(a):
        return a.copy()

    @njit
    def outermost(a):
        b = copied(a)
        b[0] = fourth_power(b[0])
        return b[0]

    @njit
    def other(x):
        return square(x) + 1.0

    a = np.array([3.0])
    assert outermost(a) == 81.0 and a[0] == 3.0
    assert other(3.0) == 10.0
    assert has_machine_code(outermost) and has_machine_code(other)
    assert not any(map(has_machine_code, (square, fourth_power, copied)))


def test_with_another_numba_they_are_compiled_as_others():
    done = subprocess.run([sys.executable, '-c', SCRIPT], capture_output=True, text=True)
    assert done.stdout == '10.0\n', done.stderr
