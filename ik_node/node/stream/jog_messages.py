# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The messages of jog commands: twists, and velocities of joints."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import Twist
import numpy as np

from ik_node.base.errors import GoalError, Reason
from ik_node.base.text import quote
from ik_node.model.chain import Chain
from ik_node.motion.following.jog import JogOptions


def joint_jog_type() -> Any:
    """Return control_msgs' JointJog; None where control_msgs is not installed."""
    try:
        from control_msgs.msg import JointJog
    except ImportError:
        return None
    return JointJog


def twist_numbers(message: Twist) -> np.ndarray:
    """Return the numbers (6,) of a twist, linear before angular."""
    v, w = message.linear, message.angular
    return np.array([v.x, v.y, v.z, w.x, w.y, w.z])


def joint_rates(message: Any, chain: Chain, options: JogOptions) -> np.ndarray:
    """
    Return the velocity (n,) of each joint (rad/s or m/s); joints that are not named rest.

    Parameters
    ----------
    message : control_msgs/JointJog
        Its velocities count; displacements are refused, the duration is not used.

    Raises
    ------
    GoalError
        GOAL_JOINTS if names and velocities do not fit, GOAL_NOT_FINITE, or as
        :meth:`JogOptions.rates`.

    """
    names, velocities = list(message.joint_names), np.array(message.velocities, dtype=float)
    if len(message.displacements):
        raise GoalError('the jog has displacements; joints are jogged by velocities alone',
                        Reason.GOAL_JOINTS)
    if not names or len(names) != len(velocities) or len(set(names)) != len(names):
        raise GoalError(f'the jog has {len(names)} names ({len(set(names))} different) and '
                        f'{len(velocities)} velocities; give one velocity to each name',
                        Reason.GOAL_JOINTS)
    unknown = [name for name in names if name not in chain.joint_names]
    if unknown:
        raise GoalError(f'the joint {quote(unknown[0])} is not one of '
                        f'{", ".join(map(quote, chain.joint_names))}', Reason.GOAL_JOINTS)
    rates = np.zeros(chain.n)
    rates[[chain.joint_names.index(name) for name in names]] = options.rates(velocities)
    return rates
