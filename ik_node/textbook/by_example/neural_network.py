# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
A neural network that answers goals, trained on the spot for the arm.

Guez and Ahmad 1988, "Solution to the inverse kinematics problem in robotics by neural networks".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
import warnings

import numpy as np

from ik_node.base.errors import ParameterError
from ik_node.base.system import how_to_install
from ik_node.textbook.by_example.key_postures import (
    arm_key,
    ArmKey,
    KEPT_ARMS,
    pose_aimed_at,
    solved_poses,
)
from ik_node.textbook.task import Task

HIDDEN_UNITS = (64, 64)
TRAINING_STEPS = 150     # of L-BFGS: a second or two
WEIGHT_DECAY = 0.1
TRAINING_SEED = 0        # of the first weights, the same each time
SMALLEST_SCALE = 1e-9    # of an input that is the same in all poses


def neural_network(task: Task, q: np.ndarray) -> np.ndarray:
    """
    Return the posture (n,) that the network of the arm has for a goal.

    The first call for an arm trains the network, which is kept.

    Parameters
    ----------
    task : Task
    q : (n,) array
        The posture by which the free axes of the goal are chosen, rad or m.

    Raises
    ------
    ParameterError
        If scikit-learn is not installed.

    """
    return trained(arm_key(task.chain)).posture(pose_aimed_at(task, q))


class Network:
    """
    A network of two hidden layers from poses to postures.

    Inputs are the position and the rotation matrix, each number scaled to mean 0 and deviation
    1.  Outputs are the sine and the cosine of each angle from the middle of its range, since an
    angle jumps at a full turn and they do not; for a sliding joint its position, with half its
    range as the unit.  The squared error of the outputs is minimised by L-BFGS.

    Parameters
    ----------
    arm : ArmKey

    """

    def __init__(self, arm: ArmKey) -> None:
        regressor, one_thread = _learner()
        chain, learned = arm.chain, solved_poses(arm)
        self._middle, self._revolute = chain.middle, chain.revolute
        self._mean = learned.poses.mean(axis=0)
        self._scale = np.maximum(learned.poses.std(axis=0), SMALLEST_SCALE)
        away = learned.postures - self._middle
        self._slide = np.maximum(np.abs(away).max(axis=0), SMALLEST_SCALE)
        outputs = np.hstack([np.where(self._revolute, np.sin(away), away / self._slide),
                             np.where(self._revolute, np.cos(away), 0.0)])
        # The matrices are so small that threads would wait for each other.
        with warnings.catch_warnings(), one_thread(1, user_api='blas'):
            # That it could be trained for longer is known.
            warnings.simplefilter('ignore')
            self._network = regressor.fit((learned.poses - self._mean) / self._scale, outputs)

    def posture(self, pose: np.ndarray) -> np.ndarray:
        """Return the posture (n,) for a pose (12,), which may be beyond the limits."""
        out = self._network.predict(((pose - self._mean) / self._scale)[None])[0]
        first, second = np.split(out, 2)
        return self._middle + np.where(self._revolute, np.arctan2(first, second),
                                       first * self._slide)


@lru_cache(KEPT_ARMS)
def trained(arm: ArmKey) -> Network:
    """Return the network of an arm, trained at the first call."""
    return Network(arm)


def _learner() -> tuple[Any, Callable[..., Any]]:
    """Return the network to be trained, and the context that limits its threads."""
    try:
        from sklearn.neural_network import MLPRegressor
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise ParameterError('the method neural_network needs scikit-learn; install it with '
                             f'"{how_to_install("sklearn")}" or choose another method') from error

    return MLPRegressor(hidden_layer_sizes=HIDDEN_UNITS, solver='lbfgs', alpha=WEIGHT_DECAY,
                        max_iter=TRAINING_STEPS, random_state=TRAINING_SEED), threadpool_limits
