# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Inverse kinematics for serial arms, from the URDF to the joint trajectory.

Three groups of folders.  A folder imports only from those that stand before it here, and its
docstring lists what is in it.

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
    from ik_node.base.errors import IkNodeError as IkNodeError
    from ik_node.collision.distances.model import CollisionModel as CollisionModel
    from ik_node.collision.scene.scene import Scene as Scene
    from ik_node.kinematics.arm import Arm as Arm, load_robot as load_robot, load_urdf as load_urdf
    from ik_node.kinematics.tree.kinematic_tree import (
        KinematicTree as KinematicTree,
        load_tree as load_tree,
    )
    from ik_node.motion.constrained.constraint import PathConstraint as PathConstraint
    from ik_node.motion.constrained_motion import plan_constrained as plan_constrained
    from ik_node.motion.detour import plan_detour as plan_detour
    from ik_node.motion.direct.point_to_point import (
        plan_point_to_point as plan_point_to_point,
        StartState as StartState,
    )
    from ik_node.motion.following.follower import Follower as Follower
    from ik_node.motion.following.jog import JogCommand as JogCommand
    from ik_node.motion.following.options import FollowOptions as FollowOptions
    from ik_node.motion.tool_path.path import ToolPath as ToolPath
    from ik_node.motion.tool_path.plan import plan_path as plan_path
    from ik_node.motion.trajectory.limits import (
        MotionLimits as MotionLimits,
        TipLimits as TipLimits,
    )
    from ik_node.motion.trajectory.trajectory import MotionState as MotionState
    from ik_node.solver.goal import Goal as Goal
    from ik_node.solver.solver import Solver as Solver

    __version__: str

# Imported on first use, so that importing the package does not load the compiler.
_PUBLIC_MODULES = {
    'Arm': 'ik_node.kinematics.arm',
    'CollisionModel': 'ik_node.collision.distances.model',
    'FollowOptions': 'ik_node.motion.following.options',
    'Follower': 'ik_node.motion.following.follower',
    'Goal': 'ik_node.solver.goal',
    'IkNodeError': 'ik_node.base.errors',
    'JogCommand': 'ik_node.motion.following.jog',
    'KinematicTree': 'ik_node.kinematics.tree.kinematic_tree',
    'MotionLimits': 'ik_node.motion.trajectory.limits',
    'MotionState': 'ik_node.motion.trajectory.trajectory',
    'PathConstraint': 'ik_node.motion.constrained.constraint',
    'Scene': 'ik_node.collision.scene.scene',
    'Solver': 'ik_node.solver.solver',
    'StartState': 'ik_node.motion.direct.point_to_point',
    'TipLimits': 'ik_node.motion.trajectory.limits',
    'ToolPath': 'ik_node.motion.tool_path.path',
    'load_robot': 'ik_node.kinematics.arm',
    'load_tree': 'ik_node.kinematics.tree.kinematic_tree',
    'load_urdf': 'ik_node.kinematics.arm',
    'plan_constrained': 'ik_node.motion.constrained_motion',
    'plan_detour': 'ik_node.motion.detour',
    'plan_path': 'ik_node.motion.tool_path.plan',
    'plan_point_to_point': 'ik_node.motion.direct.point_to_point',
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
