# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a cycle of a stream costs: with no check, with the arm and the ground, and with boxes."""

from __future__ import annotations

from dataclasses import replace
from time import thread_time

import numpy as np

from benchmarks.collision.goals import GoalRobot
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.following.follower import Follower
from ik_node.motion.trajectory.trajectory import MotionState

STREAM_ARMS = 'ur5', 'panda', 'six_axis'
HOMES = {
    'ur5': (0.0, -1.3, 1.5, -0.5, 1.2, 0.3),
    'panda': (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8),
    'six_axis': (0.0, 0.8, 0.4, 0.0, -1.5, 0.0),
}
CYCLE_S = 0.01
RADIUS_M = 0.2       # of the circle on which the target moves
SPEED_M_S = 0.25
STREAM_SCENES = 5
STREAM_CYCLES = 2000  # in each scene
SETTLING_CYCLES = 50  # that are not counted


def cycle_times(robot: GoalRobot, scene: Scene | None) -> list[float]:
    """Return the processor times (us) of the cycles; without a check if there is no scene."""
    empty = Scene(robot.chain.base_link)
    settings = robot.settings(empty if scene is None else scene)
    home = np.array(HOMES[robot.name])
    follower = Follower(robot.chain, settings.planning, replace(settings.following, joins=True),
                        None if scene is None else settings.solver.collisions)
    follower.begin(MotionState.at_rest(home), 0.0)
    T_home, times = forward_kinematics(robot.chain, home), []
    for k in range(1, STREAM_CYCLES + 1):
        now = CYCLE_S * k
        T, angle = T_home.copy(), SPEED_M_S / RADIUS_M * now
        T[1:3, 3] += RADIUS_M * np.sin(angle), RADIUS_M * (np.cos(angle) - 1.0)
        begin = thread_time()
        follower.feed(T, now, now)
        follower.step(now)
        follower.trajectory(now)
        times.append(1e6 * (thread_time() - begin))
    return times[SETTLING_CYCLES:]


def free_scene(robot: GoalRobot, random: np.random.Generator) -> Scene:
    """Return a scene of boxes in which the arm is free at home."""
    home = np.array(HOMES[robot.name])[None]
    while True:
        scene = robot.random_scene(random)
        model: CollisionModel = robot.settings(scene).solver.collisions
        if model.check_many(home)[0]:
            return scene


def stream_rows(robot: GoalRobot, seed: int = 0) -> list[str]:
    """Return the lines of the table."""
    random = np.random.default_rng(seed)
    scenes = [free_scene(robot, random) for _ in range(STREAM_SCENES)]
    kinds = {'no check': [None], 'arm and ground': [Scene(robot.chain.base_link)],
             'and 20 boxes': scenes}
    rows = []
    for kind, those in kinds.items():
        times = np.concatenate([cycle_times(robot, scene) for scene in those])
        middle, most = np.percentile(times, [50, 99])
        rows.append(f'{robot.name:15s} {kind:15s} {middle:7.0f} {times.mean():7.0f} {most:7.0f}')
    return rows
