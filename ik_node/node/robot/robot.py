# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The robot: all that depends on one robot description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Generic, TypeVar

import numpy as np

from ik_node.base.errors import IkNodeError, Reason
from ik_node.collision.bodies.links import CHECK_OFF_TEXT
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.tool_file import Tool
from ik_node.model.chain import Chain
from ik_node.model.description.urdf import Tree
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.direct.torque_limits import TorqueLimits
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.node.robot.settings import Settings


class Robot:
    """All that depends on one robot description."""

    def __init__(self, tree: Tree, settings: Settings,
                 collisions: CollisionModel | None = None, scene: Scene | None = None,
                 tools: Mapping[str, Tool] | None = None,
                 without_others: Callable[[CollisionModel], CollisionModel] = lambda model: model
                 ) -> None:
        self.tree, self._without_others = tree, without_others
        self.settings = settings  # from the present parameters
        self.collisions = collisions  # of the arm alone; None if collisions are not checked
        # The objects around the arm.
        self.scene = Scene(self.chain.base_link, tree.links) if scene is None else scene
        self.received_objects: set[str] = set()  # ids of those that were told by messages
        self.tools = tools or {}  # those that the arm may have, by their names
        # What motions keep; None if torques are not checked.
        self.torques: TorqueLimits | None = None
        self.joint_names = frozenset(joint.name for joint in tree.joints)  # also of others
        self.since = monotonic()  # monotonic time (s) at which it was ready
        # The last motion that was sent to it; None if the arm does not follow it.
        self.active: ActiveTrajectory | None = None
        self._lost: ActiveTrajectory | None = None
        # Whether the controller may still have a motion that the arm did not follow.
        self.diverged = False
        # (n,), the last solution, a seed of the next solve
        self.last_answer: np.ndarray | None = None

    @property
    def chain(self) -> Chain:
        """Return the chain, with its present tool."""
        return self.settings.solver.chain

    @property
    def own_collisions(self) -> CollisionModel | None:
        """
        Return the collision model of the settings, without other arms of the robot.

        What moves already is proved against what these do, not against where they will rest.
        """
        model = self.settings.solver.collisions
        return None if model is None else self._without_others(model)

    @property
    def settings_under_way(self) -> Settings:
        """Return the settings for a motion under way, with :attr:`own_collisions`."""
        return replace(self.settings, solver=self.settings.solver.with_collisions(
            self.own_collisions))

    @property
    def not_checked(self) -> str:
        """Return which links are not checked for collisions; '' if all are."""
        return CHECK_OFF_TEXT if self.collisions is None else str(self.collisions.unchecked)

    @property
    def moves(self) -> bool:
        """Return whether a planned motion is running."""
        return self.active is not None and self.active.moves(monotonic())

    @property
    def limits_under_way(self) -> MotionLimits:
        """Return the limits, or the limits of the active motion where they are higher."""
        limits, active = self.settings.limits, self.active or self._lost
        return limits if active is None or active.limits is limits \
            else limits.widest(active.limits)

    @property
    def fastest(self) -> np.ndarray:
        """Return the possible joint speeds (n,); higher than a limit that was lowered since."""
        velocity, active = self.limits_under_way.velocity, self.active or self._lost
        return velocity if active is None else np.maximum(velocity, active.peak_velocity)

    def abandon(self) -> None:
        """Record that the arm diverged from its trajectory; it may still be as fast."""
        self._lost = self.active or self._lost
        self.active, self.diverged = None, True


AnyRobot = TypeVar('AnyRobot', bound=Any)


class Slot(Generic[AnyRobot]):
    """
    Holds the robot, once its description has arrived.

    Parameters
    ----------
    complaint : callable
        Returns why there is none.

    """

    def __init__(self, complaint: Callable[[], str]) -> None:
        self.robot: AnyRobot | None = None
        self._complaint = complaint

    def why(self) -> str:
        """Return why there is none."""
        return self._complaint()

    def not_checked(self) -> str:
        """Return which links of it are not checked for collisions; '' if all are."""
        return '' if self.robot is None else self.robot.not_checked

    def require(self) -> AnyRobot:
        """
        Return the robot.

        Raises
        ------
        IkNodeError
            MODEL_MISSING, with the reason why the last description was refused.

        """
        if self.robot is None:
            raise IkNodeError(f'there is no robot description yet: {self.why()}',
                              Reason.MODEL_MISSING)
        return self.robot


RobotSlot = Slot[Robot]
