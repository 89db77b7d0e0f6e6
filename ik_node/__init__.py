# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics for serial arms, from the URDF to the joint trajectory.

Three shelves of rooms; a room imports only from those before it on its shelf and from the shelves
above, and its docstring lists its modules.

The arm's mind, which imports no ROS:
    base        errors, text, rotations and poses, the cache of compiled code
    model       a URDF becomes a chain
    kinematics  poses, Jacobians, singularities, torques
    collision   bodies, distances, the scene, ways around obstacles
    solver      a pose becomes postures
    motion      postures, lines and streams become timed trajectories

The node:
    ros         messages, parameters, processes
    replay      requests to solver and planners as JSON, and their repetition
    node        goals come in, trajectories go out

The apps, which use the node by its topics and services:
    client      an arm from Python
    simulation  a joint_trajectory_controller without hardware
    ui          RViz, the page in the browser, phone and headset
    tools       the commands
    textbook    the methods of the books

>>> import ik_node
>>> arm = ik_node.load_urdf('robot.urdf')
>>> T_base_tip = arm.fk(q)
>>> J = arm.jacobian(q)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and completion; at run time __getattr__ gives them
    from ik_node.kinematics.arm import Arm as Arm, load_robot as load_robot, load_urdf as load_urdf
    from ik_node.kinematics.tree.kinematic_tree import (
        KinematicTree as KinematicTree,
        load_tree as load_tree,
    )
    from ik_node.solver.goal import Goal as Goal
    from ik_node.solver.solver import Solver as Solver
    from ik_node.solver.tree.tree_solver import TreeSolver as TreeSolver

    __version__: str

# Imported on first use, so that importing the package does not load the compiler.
_PUBLIC_MODULES = {
    'Arm': 'ik_node.kinematics.arm',
    'Goal': 'ik_node.solver.goal',
    'KinematicTree': 'ik_node.kinematics.tree.kinematic_tree',
    'Solver': 'ik_node.solver.solver',
    'TreeSolver': 'ik_node.solver.tree.tree_solver',
    'load_robot': 'ik_node.kinematics.arm',
    'load_tree': 'ik_node.kinematics.tree.kinematic_tree',
    'load_urdf': 'ik_node.kinematics.arm',
}
__all__ = list(_PUBLIC_MODULES)


if not TYPE_CHECKING:  # with it, any name would be an object to type checkers
    def __getattr__(name: str) -> object:
        """Import a public name from its module on first use."""
        if name == '__version__':
            return _version()
        if name not in _PUBLIC_MODULES:
            raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
        return getattr(import_module(_PUBLIC_MODULES[name]), name)


def __dir__() -> list[str]:
    """Return all names, including public names that are not imported yet."""
    return sorted({*globals(), *_PUBLIC_MODULES, '__version__'})


def _version() -> str:
    """Return the version of the installed package, or of the source tree if not installed."""
    from importlib.metadata import PackageNotFoundError, version
    try:
        return version('ik_node')
    except PackageNotFoundError:
        from pathlib import Path
        from xml.etree import ElementTree
        manifest = Path(__file__).parents[1] / 'package.xml'
        return ElementTree.parse(manifest).findtext('version')
