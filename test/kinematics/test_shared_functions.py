# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Shared functions are compiled once, and are there in each process that calls them."""

import os
import subprocess
import sys

from numba import njit
import pytest

from ik_node.kinematics.kernels import compiled, shared

MODULE = """
from ik_node.kinematics.kernels import compiled, inner, linked, shared

@shared
def square(x):
    return x * x

@shared
def fourth_power(x):
    return square(square(x))

@inner
def between(x):
    return fourth_power(x) + 1.0

@linked
def first(x):
    return between(x)

@compiled
def second(x):
    return fourth_power(x) + first(x)

@compiled
def third(x):
    return square(x)
"""
START = """
import sys
from ik_node.base.compilation import SharedCode
import powers

def machine_code(*functions):
    return [bool(each.overloads) for each in functions]
"""
BOTH_COMPILED = """
assert powers.first(2.0) == 17.0 and powers.second(2.0) == 33.0
assert len(SharedCode.loaded) == 2
"""
ONE_LOADED_ONE_COMPILED = """
assert powers.first(2.0) == 17.0
assert machine_code(powers.square) == [False] and len(SharedCode.loaded) == 2
assert powers.third(3.0) == 9.0  # compiles a function of which there is machine code
assert machine_code(powers.square) == [True] and len(SharedCode.loaded) == 2
"""
CONTAINING_ONE_THAT_WAS_LOADED = """
assert powers.first(2.0) == 17.0
powers.second.recompile()
assert powers.second(2.0) == 33.0
"""
ALL_LOADED = """
assert powers.third(3.0) == 9.0 and len(SharedCode.loaded) == 1
assert powers.second(2.0) == 33.0 and len(SharedCode.loaded) == 2
assert machine_code(powers.square, powers.fourth_power) == [False, False]
assert 'numba.np.arrayobj' not in sys.modules  # numba's compiler
"""


def run(script, folder):
    """Run a script beside the module, in a new process."""
    done = subprocess.run(
        [sys.executable, '-c', START + script], capture_output=True, text=True, cwd=folder,
        env={**os.environ, 'NUMBA_CACHE_DIR': str(folder / 'kept')})
    assert done.returncode == 0, done.stderr


def test_they_are_kept_with_each_function_that_calls_them(tmp_path):
    """From process to process, each of which has their machine code once."""
    (tmp_path / 'powers.py').write_text(MODULE)
    for script in (BOTH_COMPILED, ONE_LOADED_ONE_COMPILED, ALL_LOADED,
                   CONTAINING_ONE_THAT_WAS_LOADED, ALL_LOADED):
        run(script, tmp_path)


def test_what_python_calls_is_called_by_nothing_else():
    """As it is kept without what others would have to contain of it."""
    @compiled
    def root(x):
        return x ** 0.5

    @njit
    def outer(x):
        return root(x)

    assert root(4.0) == 2.0
    with pytest.raises(TypeError, match='is called from Python only'):
        outer(4.0)


def test_they_have_a_name_that_each_process_knows():
    @shared
    def local(x):
        return x

    with pytest.raises(TypeError, match='is not one of a module'):
        njit(lambda x: local(x))(1.0)
