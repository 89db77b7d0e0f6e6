# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics for serial arms, from the URDF to the joint trajectory.

>>> import ik_node
>>> arm = ik_node.load_urdf('robot.urdf')
>>> T_base_tip = arm.fk(q)
>>> J = arm.jacobian(q)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and completion; at run time __getattr__ imports them
    from ik_node.kinematics.arm import Arm as Arm, load_urdf as load_urdf
    from ik_node.solver.goal import Goal as Goal
    from ik_node.solver.solver import Solver as Solver

# Loaded when first asked for: the import of this package alone must not load the compiler.
_HOMES = {
    'Arm': 'ik_node.kinematics.arm',
    'Goal': 'ik_node.solver.goal',
    'Solver': 'ik_node.solver.solver',
    'load_urdf': 'ik_node.kinematics.arm',
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    """Return a public name from the module where it lives."""
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the names of the module, with those that are not loaded yet."""
    return sorted({*globals(), *_HOMES})
