# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What follows from one robot description, and who holds it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np

from ik_node.errors import IkNodeError, Reason
from ik_node.model.chain import Chain
from ik_node.model.urdf import Tree
from ik_node.motion.active_trajectory import ActiveTrajectory
from ik_node.motion.limits import MotionLimits
from ik_node.node.settings import Settings


class Robot:
    """
    What follows from one robot description, and is forgotten with it.

    Attributes
    ----------
    joint_names : frozenset of str
        Of all joints of the description, the chain's and others.
    settings : Settings
        As the parameters are now.
    since : float
        Monotonic time (s) at which it was there.
    course : ActiveTrajectory or None
        The last motion that was sent to it; None if the arm does not follow it.
    astray : bool
        Whether the controller may still have a motion that the arm did not follow.
    last_answer : (n,) array or None
        The last solution, near which the next is sought.

    """

    def __init__(self, tree: Tree, chain: Chain, settings: Settings) -> None:
        self.tree = tree
        self.chain = chain
        self.joint_names = frozenset(joint.name for joint in tree.joints)
        self.settings = settings
        self.since = monotonic()
        self.course: ActiveTrajectory | None = None
        self._lost: ActiveTrajectory | None = None
        self.astray = False
        self.last_answer: np.ndarray | None = None

    @property
    def moves(self) -> bool:
        """Return whether a planned motion is under way."""
        return self.course is not None and self.course.moves(monotonic())

    @property
    def limits_under_way(self) -> MotionLimits:
        """Return the limits, or those of the present motion where they were lowered since."""
        limits, course = self.settings.limits, self.course or self._lost
        return limits if course is None else limits.widest(course.limits)

    @property
    def fastest(self) -> np.ndarray:
        """Return how fast the joints may be, (n,); faster than a limit that was lowered since."""
        velocity, course = self.limits_under_way.velocity, self.course or self._lost
        return velocity if course is None else np.maximum(velocity, course.peak_velocity)

    def lose_course(self) -> None:
        """Note that the arm does not follow what was sent; it may be as fast as that still."""
        self._lost = self.course or self._lost
        self.course, self.astray = None, True


class RobotHolder:
    """
    The robot of the node, once its description has come.

    Parameters
    ----------
    complaint : callable
        Says why there is none.

    """

    def __init__(self, complaint: Callable[[], str]) -> None:
        self.robot: Robot | None = None
        self._complaint = complaint

    def why(self) -> str:
        """Return why there is none."""
        return self._complaint()

    def require(self) -> Robot:
        """
        Return the robot.

        Raises
        ------
        IkNodeError
            MODEL_MISSING, with what became of the last description.

        """
        if self.robot is None:
            raise IkNodeError(f'there is no robot description yet: {self.why()}',
                              Reason.MODEL_MISSING)
        return self.robot
