# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Goals for the demonstration of any arm, made from its chain and tried by its solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import pose, rotation_about
from ik_node.collision.bodies.ground import ground_body, GROUND_NAME
from ik_node.collision.distances.model import CollisionModel
from ik_node.kinematics.arm import forward_kinematics
from ik_node.motion.trajectory.controller_rules import seconds
from ik_node.node.state.health_checks import READY_TEXT
from ik_node.ros.messages.conversion import quaternion_from_rotation
from ik_node.ros.messages.goal_answers import publish_stamped
from ik_node.ros.messages.joint_states import JointStates
from ik_node.ros.messages.status_messages import GoalState, is_final, values_of
from ik_node.ros.middleware.handshake import greet, wait_for
from ik_node.ros.middleware.qos import ANSWERS_QOS, STATES_QOS
from ik_node.solver.solver import Solver
from ik_node.tools.arguments.send_goal import parse
from ik_node.tools.send_goal import make_goal

# Goals are within this share of each joint's range, and this far (rad) from its middle.
USED_RANGE_SHARE = 0.5
MAX_ANGLE_FROM_MIDDLE_RAD = 1.2
MAX_SLIDE_FROM_MIDDLE_M = 0.5
GROUND_POSTURES, GROUND_SEED = 64, 5
GROUND_ROOM_M = 1e-3  # more than the margin
TRIED_POSTURES = 300  # there, and as many in the whole of each range, if too few are free
POSE_GOALS = 3
# Lengths divided by the reach of the arm.
MIN_SPACING_RATIO = 0.15
LINE_LENGTH_RATIOS = (0.15, 0.05)
ARC_RADIUS_RATIOS = (0.06, 0.02)
TOO_FAR_RATIO = 3.0
# A straight line or an arc is offered if the joints stay continuous along it.
PATH_SAMPLES = 25
MAX_JOINT_STEP = 0.25  # rad or m, between two samples
PATH_LIMIT_ROOM = 0.01  # rad or m, of each sample from the joint limits
UNKNOWN_FRAME = 'no_such_frame'
TOOL_TURNS_RAD = (0.5 * np.pi, -0.5 * np.pi, 0.25 * np.pi, -0.25 * np.pi)

NamedGoal = dict[str, Any]


def on_ground(model: CollisionModel, height: float,
              distance: float) -> tuple[CollisionModel, float]:
    """
    Return the model on a ground, with a margin of `distance` (m), and the height (m) of that.

    It is at `height`, or lower, so that each link can be a margin away from it: a turntable just
    above its base is always near what the base stands on.
    """
    among = model.with_objects([ground_body(height)], distance)
    chain, random = model.chain, np.random.default_rng(GROUND_SEED)
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    farthest = np.max([among.distances(q, 2.0 * distance) for q in random.uniform(
        lower, np.maximum(lower, upper), (GROUND_POSTURES, chain.n))], axis=0)
    missing = max((distance - farthest[k] for k in range(len(farthest))
                   if GROUND_NAME in among.names_of(k)), default=0.0)
    if missing <= 0.0:
        return among, height
    height -= missing + GROUND_ROOM_M
    return model.with_objects([ground_body(height)], distance), height


def free_start(collisions: CollisionModel, q: np.ndarray) -> np.ndarray:
    """Return free joint positions (n,): q, or those near it of postures that were tried."""
    if collisions.check_many(q[None])[0]:
        return q
    tried = _free_postures(collisions, 1)
    return tried[np.abs(tried - q).sum(axis=1).argmin()]


def goals_for(collisions: CollisionModel, start: np.ndarray | None = None) -> list[NamedGoal]:
    """
    Return goals as :func:`ik_node.tools.pose_files.read_goals` does, for any arm.

    Poses that the arm can reach, one of them twice; a motion along the tool, a turn of the tool,
    a straight line and an arc, each only if the solver finds it possible (an arm of fewer than
    six joints has few straight lines); a goal out of reach, and one in an unknown frame.
    All are reached without a collision.  The same model always gets the same goals.

    Parameters
    ----------
    start : (n,) array, optional
        Where the arm is at first, rad or m; default: in the middle of its joint ranges.

    """
    made = _GoalMaker(collisions, collisions.chain.middle if start is None else start)
    postures = made.spread_postures()
    first, *others = postures
    made.add_pose('a first pose', first)
    made.repeat('the same pose again')
    made.add_along_tool()
    made.add_tool_turn()
    for number, q in enumerate(others, start=2):
        made.add_pose(f'pose {number}', q)
    # From whichever of the postures it is possible.
    made.add_path('a straight line', _lines, postures)
    made.add_path('an arc', _arcs, postures)
    made.add_out_of_reach()
    made.add('in an unknown frame', pose(np.eye(3), np.zeros(3)), 'FRAME_UNKNOWN',
             frame=UNKNOWN_FRAME)
    made.add_pose('back to the first pose', first)
    return made.goals


class _GoalMaker:
    """Collects goals, and tracks where the arm is after each."""

    def __init__(self, collisions: CollisionModel, start: np.ndarray) -> None:
        self.goals: list[NamedGoal] = []  # the goals up to now
        self._chain, self._collisions = collisions.chain, collisions
        self._solver = Solver(collisions.chain, collisions)
        self._q = start

    def add(self, name: str, T: np.ndarray, expected: str, **fields: Any) -> None:
        """Add a goal at a pose (4, 4); `fields` are further entries of a file, such as line."""
        self.goals.append({
            'name': name, 'xyz': _rounded(T[:3, 3]),
            'quat': _rounded(quaternion_from_rotation(T[:3, :3])),
            'frame': self._chain.base_link, 'expect': expected, **fields})

    def add_pose(self, name: str, q: np.ndarray) -> None:
        """Add the pose that the tip has at joint positions (n,)."""
        T = forward_kinematics(self._chain, q)
        self.add(name, T, 'REACHED')
        self._take(T)

    def repeat(self, name: str) -> None:
        """Add the last goal once more."""
        self.goals.append({**self.goals[-1], 'name': name, 'expect': 'ALREADY_THERE'})

    def add_along_tool(self) -> None:
        """Add a goal that is relative to the tip, along its z axis."""
        for sign, ratio in product((-1.0, 1.0), LINE_LENGTH_RATIOS):
            length = sign * ratio * self._chain.reach
            shift = pose(np.eye(3), np.array([0.0, 0.0, length]))
            if self._add_relative(f'{100.0 * length:+.0f} cm along the tool', shift):
                return

    def add_tool_turn(self) -> None:
        """Add a goal that is relative to the tip, turned about its z axis."""
        for angle in TOOL_TURNS_RAD:
            turn = pose(rotation_about(np.array([0.0, 0.0, 1.0]), angle), np.zeros(3))
            if self._add_relative(f'the tool turned by {np.degrees(angle):+.0f} degrees', turn):
                return

    def _add_relative(self, name: str, T_tip_goal: np.ndarray) -> bool:
        T = forward_kinematics(self._chain, self._q) @ T_tip_goal
        if not self._reaches(T):
            return False
        self.add(name, T_tip_goal, 'REACHED', frame=self._chain.tip_link)
        self._take(T)
        return True

    def add_path(self, name: str, candidates: Any, postures: Sequence[np.ndarray]) -> None:
        """Add the first path that is possible, after a goal that brings the arm to its start."""
        here = self._q
        starts = [here, *(q for q in postures if not np.array_equal(q, here))]
        for q in starts:
            T_start = forward_kinematics(self._chain, q)
            seed = q if q is here else self._solver.solve(T_start, here).q
            for samples, fields in candidates(T_start, self._chain.reach):
                if (end := self._followed(samples, seed)) is None:
                    continue
                if q is not here:
                    self.add_pose(f'to where {name} begins', q)
                self.add(name, samples[-1], 'REACHED', **fields)
                self._q = end
                return

    def _followed(self, poses: Sequence[np.ndarray], q: np.ndarray) -> np.ndarray | None:
        """Return the joint positions (n,) at the end of poses; None if the arm cannot follow."""
        for T in poses:
            result = self._solver.solve(T, q)
            room = np.minimum(result.q - self._chain.lower, self._chain.upper - result.q)
            if not result.success or room.min() < PATH_LIMIT_ROOM \
                    or np.abs(result.q - q).max() > MAX_JOINT_STEP:
                return None
            q = result.q
        return q

    def add_out_of_reach(self) -> None:
        """Add a goal that no posture reaches; an arm on an endless rail has none."""
        T = forward_kinematics(self._chain, self._q)
        far = TOO_FAR_RATIO * self._chain.reach + np.linalg.norm(self._chain.offsets[0, 9:])
        if np.isfinite(far):
            self.add('too far away', pose(T[:3, :3], np.array([far, 0.0, 0.0])), 'OUT_OF_REACH')

    def _reaches(self, T: np.ndarray) -> bool:
        return bool(self._solver.solve(T, self._q).success)

    def _take(self, T: np.ndarray) -> None:
        """Note where the arm is after a goal (4, 4)."""
        self._q = self._chain.nearest_turns(self._solver.solve(T, self._q).q, self._q)

    def spread_postures(self) -> list[np.ndarray]:
        """
        Return joint positions (n,) whose tip positions are apart from one another.

        Those with the tip above the base come first; the middle of the ranges, in which the
        simulated arm starts if it is free there, is not among them.
        """
        chain, tried = self._chain, _free_postures(self._collisions, POSE_GOALS)
        tips = [forward_kinematics(chain, q)[:3, 3] for q in tried]
        above = [tip[2] > 0.1 * chain.reach for tip in tips]
        chosen: list[int] = []
        for spacing in (MIN_SPACING_RATIO, 0.1 * MIN_SPACING_RATIO, 0.0):
            for k in sorted(range(len(tried)), key=lambda k: not above[k]):
                if len(chosen) < POSE_GOALS and k not in chosen and all(
                        np.linalg.norm(tips[k] - tips[other]) >= spacing * chain.reach
                        for other in chosen):
                    chosen.append(k)
        return [tried[k] for k in chosen]


def _free_postures(collisions: CollisionModel, enough: int) -> np.ndarray:
    """Return free postures (k, n) near the middle, or in the whole ranges if too few are there."""
    chain, random = collisions.chain, np.random.default_rng(0)
    half = np.minimum(chain.upper - chain.middle, chain.middle - chain.lower)
    most = np.where(chain.revolute, MAX_ANGLE_FROM_MIDDLE_RAD, MAX_SLIDE_FROM_MIDDLE_M)
    whole = np.where(np.isfinite(half), half, np.where(chain.revolute, np.pi, most))
    for span in (np.minimum(USED_RANGE_SHARE * half, most), whole):
        tried = chain.middle + span * random.uniform(-1.0, 1.0, (TRIED_POSTURES, chain.n))
        tried = tried[collisions.check_many(tried)]
        if len(tried) >= enough:
            return tried
    if not len(tried):
        raise ParameterError(
            f'the arm collides in each of {TRIED_POSTURES} postures all over its joint ranges; '
            f'in their middle {collisions.describe(chain.middle)}. Correct the collision '
            'elements of the URDF, or its joint limits')
    return tried


def _directions(T: np.ndarray) -> list[np.ndarray]:
    """Return unit vectors (3,) to try from a pose: up and down, radial, to the sides."""
    up = np.array([0.0, 0.0, 1.0])
    radial = np.array([T[0, 3], T[1, 3], 0.0])
    length = np.linalg.norm(radial)
    radial = radial / length if length > 1e-6 else np.array([1.0, 0.0, 0.0])
    side = np.cross(up, radial)
    return [-side, side, -up, up, -radial, radial]


def _shifted(T: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return pose(T[:3, :3], T[:3, 3] + shift)


def _lines(T: np.ndarray, reach: float) -> Iterator[tuple[list[np.ndarray], NamedGoal]]:
    """Give straight lines from a pose: samples (4, 4), and the fields of the goal."""
    for ratio, direction in product(LINE_LENGTH_RATIOS, _directions(T)):
        yield ([_shifted(T, s * ratio * reach * direction)
                for s in np.linspace(0.0, 1.0, PATH_SAMPLES)], {'line': True})


def _arcs(T: np.ndarray, reach: float) -> Iterator[tuple[list[np.ndarray], NamedGoal]]:
    """Give half circles from a pose: samples (4, 4), and the fields of the goal."""
    directions = _directions(T)
    for ratio, a, b in product(ARC_RADIUS_RATIOS, directions, directions):
        if abs(a @ b) > 0.5:
            continue
        radius = ratio * reach
        arc = [_shifted(T, radius * ((1.0 - np.cos(t)) * a + np.sin(t) * b))
               for t in np.linspace(0.0, np.pi, PATH_SAMPLES)]
        yield arc, {'through': _rounded(arc[PATH_SAMPLES // 2][:3, 3])}


def _rounded(values: np.ndarray) -> list[float]:
    """Return numbers as they are printed and sent: to a nanometre, or 1e-9 of a quaternion."""
    return [round(float(value), 9) + 0.0 for value in values]


JOINT_STATE_TIMEOUT_S = 10.0


class Witness(Node):
    """Observes joint states, diagnostics and answers to goals."""

    def __init__(self) -> None:
        super().__init__('demo', start_parameter_services=False)
        self.states = JointStates()
        self.ours: set[str] = set()  # stamps of the goals that this demonstration has sent
        self._goals: dict[str, dict[str, str]] = {}  # stamp -> latest answer
        self._goal_publishers: dict[str, Publisher] = {}  # topic -> publisher
        self._taken = False  # somebody has dragged the handle, or ended a goal of ours
        self._health = ''
        self.create_subscription(DiagnosticStatus, 'ik_node/answers', self._on_status, ANSWERS_QOS)
        self.create_subscription(DiagnosticStatus, 'ik_node/preview', self._on_preview, 1)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, STATES_QOS)

    def ready(self) -> bool:
        """Return whether the node says that it is ready for goals."""
        return self._health.startswith(READY_TEXT)

    def taken_over(self) -> bool:
        """Return whether somebody else has sent a goal, stopped ours, or dragged the handle."""
        return self._taken or bool(self._goals.keys() - self.ours)

    def send(self, command: list[str]) -> str:
        """Publish the goal of a send_goal command; return its stamp."""
        topic, goal = make_goal(parse(command))
        if topic not in self._goal_publishers:
            self._goal_publishers[topic] = self.create_publisher(type(goal), f'ik_node/{topic}', 1)
            greet(self, 'ik_node', JOINT_STATE_TIMEOUT_S, self._goal_publishers[topic])
        stamp = publish_stamped(self, self._goal_publishers[topic], goal)
        self.ours.add(stamp)
        return stamp

    def final_answer(self, stamp: str) -> dict[str, str] | None:
        """Return the final answer to a goal, if there is one."""
        answer = self._goals.get(stamp)
        return answer if answer is not None and is_final(answer) else None

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = values_of(message)
        self._goals[values['stamp']] = {**values, 'message': message.message}
        # Of our own goals each is sent after the end of the one before.
        self._taken |= values['state'] in (GoalState.SUPERSEDED, GoalState.STOPPED)

    def _on_preview(self, _message: DiagnosticStatus) -> None:
        self._taken = True

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == '/ik_node: health':
                self._health = status.message

    def fresh_positions(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return joint positions; the stamps for `names` are newer than the call."""
        # An old message may have waited while this process waited for another one.
        called = 1e-9 * self.get_clock().now().nanoseconds
        wait_for(self, lambda: self.states.age(names, called) < 0.0, JOINT_STATE_TIMEOUT_S)
        return self.states.positions

    def _on_joint_states(self, message: JointState) -> None:
        self.states.take(message, seconds(message.header.stamp))
