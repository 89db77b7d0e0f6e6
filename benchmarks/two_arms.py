# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure two arms of one node, each with goals of its own at random times.

    python -m benchmarks.two_arms [--robots baxter pr2 ur5_pair] [--goals 1000] [--rate 100]
    python -m benchmarks.two_arms --stream 60

Robots: Baxter, PR2's arms, and two UR5 that face each other, with the meshes of
example-robot-data.  Each arm has a simulated controller.  Goals of poses, joints and short lines
come at random times, so that many take the place of one under way, and some are stopped.  Then
each arm has as many goals as it can do in turn with the other, and at the same time as the other.

Judged: what the controllers publish, in steps in which no joint moves a point at 1 m by more than
1 mm, by the raw meshes of links of one arm against those of the other, in coal; and that each goal
has one final answer.

With --stream both hands are streamed to at the same time instead, above a table: each to where the
other one was and back, and into the table.  Judged in the same way, against the table too; and by
how much the velocity of a joint changes between two states, of what its acceleration allows.
The processor time is that of all threads of ik_arms, for each 10 ms.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
import os
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple
from xml.etree import ElementTree

import coal
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
import numpy as np
import pinocchio as pin
import rclpy
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.time import Time as RosTime
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from benchmarks.arms import PACKAGES
from ik_node.base.se3 import pose
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.kinematics.arm import forward_kinematics
from ik_node.kinematics.tree.kinematic_tree import KinematicTree, make_tree
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.ros.messages.conversion import pose_stamped
from ik_node.ros.messages.status_messages import GoalState, stamp_text
from ik_node.ros.middleware.executor import make_executor
from ik_node.ros.middleware.handshake import greet
from ik_node.ros.middleware.process import leave
from ik_node.tools.demo.command import running

REAL = PACKAGES['example-robot-data']
MARGIN_M = 0.01
STEP_M = 1e-3         # from one posture that is judged to the next, of a point at REACH_M
REACH_M = 1.0
NEAR_M = 0.05         # by the node's own model; what is farther apart is not looked at by coal
SPREAD = 0.7          # rad, of random postures about one in which both hands work
LINE_M = 0.08
PATIENCE_S = 300.0
UNSEEN_S = 0.05       # longer than that without a state of an arm nothing is judged
START_S = 3.0         # for discovery
SETTLE_S = 1.0        # for second answers
FINAL = {state.value for state in GoalState} - {GoalState.ACCEPTED.value}
ALL = QoSProfile(history=HistoryPolicy.KEEP_ALL)
SIDES = 'left', 'right'
CYCLE_S = 0.01        # between two poses of a stream
IDLE_S = 10.0         # for which the processor time at rest is measured
HANDS_APART_M = 0.35, 0.55     # at the start of streams
SWAP_PERIODS_S = 7.0, 11.0     # in which a hand goes to where the other one was, and back
DIP_PERIODS_S = 13.0, 9.0      # and down by DIP_M, into the table, and back
DIP_M = 0.3
TABLE_SIZE_M = 0.5, 0.8, 0.04
TABLE_BELOW_M = 0.25           # of the middle of the table, below that of the hands


def ur5_pair() -> str:
    """Return the URDF of two UR5 that face each other, 0.9 m apart."""
    robot = ElementTree.Element('robot', name='ur5_pair')
    ElementTree.SubElement(robot, 'link', name='table')
    for side, x, yaw in (('left', -0.45, 0.0), ('right', 0.45, np.pi)):
        arm = ElementTree.parse(REAL / 'ur_description/urdf/ur5_robot.urdf').getroot()
        for each in [each for each in arm if each.tag in ('link', 'joint')]:
            for key, holder in (('name', each), *(('link', end) for end in each
                                                  if end.tag in ('parent', 'child'))):
                holder.set(key, f'{side}_{holder.get(key)}')
            robot.append(each)
        mount = ElementTree.SubElement(robot, 'joint', name=f'{side}_mount', type='fixed')
        ElementTree.SubElement(mount, 'parent', link='table')
        ElementTree.SubElement(mount, 'child', link=f'{side}_world')
        ElementTree.SubElement(mount, 'origin', xyz=f'{x} 0 0', rpy=f'0 0 {yaw}')
    return ElementTree.tostring(robot, encoding='unicode')


@dataclass(frozen=True)
class Pair:
    """Two arms of a robot."""

    name: str
    text: str
    base: str
    tips: tuple[str, str]
    middle: dict[str, float]  # a posture by parts of the names of joints, left and right alike

    @cached_property
    def tree(self) -> KinematicTree:
        """Return all joints of both."""
        return make_tree(parse_urdf(self.text), self.base, self.tips)

    @cached_property
    def chains(self) -> tuple[Chain, Chain]:
        """Return both arms."""
        one, other = (make_chain(self.tree.tree, self.base, tip) for tip in self.tips)
        return one, other

    @cached_property
    def model(self) -> CollisionModel:
        """Return the collision model of both, as the node makes it."""
        root = REAL.parent

        def find(uri: str) -> tuple[FilePath | None, str]:
            path = root / uri.removeprefix('package://example-robot-data/')
            return (path, '') if path.is_file() else (None, 'missing')

        return CollisionModel(self.tree, self.tree.tree, arm_bodies(self.tree.tree, find).bodies,
                              margin=MARGIN_M)

    def posture(self, random: np.random.Generator) -> np.ndarray:
        """Return a random free posture (n,) of both, in the space that they share."""
        middle = np.array([next((value for part, value in self.middle.items() if part in name),
                                0.0) for name in self.tree.joint_names])
        while True:
            q = np.clip(random.normal(middle, SPREAD), self.tree.lower, self.tree.upper)
            if self.model.check_many(q[None])[0]:
                return q

    def above_table(self, random: np.random.Generator) -> tuple[np.ndarray, Scene]:
        """Return a posture (n,) from which both hands can be streamed to, above a table."""
        while True:
            q = self.posture(random)
            left, right = (T[:3, 3] for T in self.tree.fk(q).values())
            table = Scene(self.base)
            table.add_box('table', TABLE_SIZE_M, pose(
                np.eye(3), 0.5 * (left + right) - [0.0, 0.0, TABLE_BELOW_M]))
            if HANDS_APART_M[0] < np.linalg.norm(left - right) < HANDS_APART_M[1] \
                    and self.model.with_objects(table.bodies, 2.0 * MARGIN_M).check_many(
                        q[None])[0]:
                return q, table

    def near(self, Q: np.ndarray, scene: Scene) -> np.ndarray:
        """Return in which postures (K, n) an arm is near the other one or a scene, (K,) bool."""
        arms = self.model.between([chain.joint_names for chain in self.chains])
        links = [body.name for body in self.model.bodies]
        objects = self.model.with_disabled_pairs(combinations(links, 2))
        return ~(arms.with_objects((), NEAR_M).check_many(Q)
                 & objects.with_objects(scene.bodies, NEAR_M).check_many(Q))

    def columns(self, k: int) -> list[int]:
        """Return where the joints of an arm are in a posture of both."""
        return [self.tree.joint_names.index(name) for name in self.chains[k].joint_names]


def pairs() -> dict[str, Pair]:
    """Return the robots."""
    return {
        'baxter': Pair('baxter', (REAL / 'baxter_description/urdf/baxter.urdf').read_text(),
                       'torso', ('left_gripper', 'right_gripper'),
                       {'left_s0': -0.5, 'right_s0': 0.5, '_e1': 1.2, '_w1': 0.5}),
        'pr2': Pair('pr2', (REAL / 'pr2_description/urdf/pr2.urdf').read_text(),
                    'torso_lift_link', ('l_wrist_roll_link', 'r_wrist_roll_link'),
                    {'elbow_flex': -1.2, 'wrist_flex': -0.6}),
        'ur5_pair': Pair('ur5_pair', ur5_pair(), 'table', ('left_tool0', 'right_tool0'),
                         {'shoulder_lift': -1.0, 'elbow': 1.0}),
    }


class Seen(NamedTuple):
    """What the controller of an arm published."""

    at: float  # by its clock, s
    q: tuple[float, ...]   # (n,), rad
    qd: tuple[float, ...]  # (n,), rad/s


class Hand:
    """One arm: what it was sent, and what it answered."""

    def __init__(self, node: Node, pair: Pair, k: int, name: str,
                 random: np.random.Generator) -> None:
        self._node, self._pair, self._k, self._random = node, pair, k, random
        self.chain = pair.chains[k]
        self.sent: dict[str, float] = {}
        self.accepted: dict[str, float] = {}
        self.final: dict[str, str] = {}
        self.ended: dict[str, float] = {}
        self.twice = 0
        self._poses = node.create_publisher(PoseStamped, f'{name}/goal_pose', ALL)
        self._lines = node.create_publisher(Path, f'{name}/goal_path', ALL)
        self._joints = node.create_publisher(JointState, f'{name}/goal_joints', ALL)
        self._stream = node.create_publisher(PoseStamped, f'{name}/goal_stream', 1)
        self.publishers = self._poses, self._lines, self._joints, self._stream
        self.stop = node.create_client(Trigger, f'{name}/stop')
        node.create_subscription(DiagnosticStatus, f'{name}/answers', self._on_answer, ALL)
        self.q: np.ndarray | None = None

    def _on_answer(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        stamp = values['stamp']
        if values['state'] not in FINAL:
            self.accepted.setdefault(stamp, monotonic())
            return
        self.twice += stamp in self.final
        self.final[stamp], self.ended[stamp] = values['reason'], monotonic()

    def send(self, kind: float | None = None) -> str:
        """Send a goal of some kind; return its stamp."""
        random = self._random
        kind = random.random() if kind is None else kind
        q = self._pair.posture(random)[self._pair.columns(self._k)]
        if kind < 0.4:
            return self._publish(self._joints, JointState(name=list(self.chain.joint_names),
                                                          position=q.tolist()))
        if kind < 0.8 or self.q is None:
            return self._publish(self._poses, pose_stamped(forward_kinematics(self.chain, q),
                                                           self.chain.base_link))
        T = forward_kinematics(self.chain, self.q)
        T[:3, 3] += random.uniform(-LINE_M, LINE_M, 3)
        goal = Path(poses=[pose_stamped(T, self.chain.base_link)])
        goal.header.frame_id = self.chain.base_link
        return self._publish(self._lines, goal)

    def lead(self, T: np.ndarray) -> None:
        """Send a pose (4, 4) of a stream, in the base link."""
        goal = pose_stamped(T, self.chain.base_link)
        goal.header.stamp = self._node.get_clock().now().to_msg()
        self._stream.publish(goal)

    def _publish(self, publisher, goal) -> str:
        goal.header.stamp = RosTime(
            nanoseconds=self._node.get_clock().now().nanoseconds).to_msg()
        stamp = stamp_text(goal.header.stamp)
        self.sent[stamp] = monotonic()
        publisher.publish(goal)
        return stamp

    @property
    def open(self) -> list[str]:
        """Return the goals without a final answer."""
        return [stamp for stamp in self.sent if stamp not in self.final]


class Witness(Node):
    """Sends to both arms, and records what their controllers publish."""

    def __init__(self, pair: Pair, names: tuple[str, ...], seed: int) -> None:
        super().__init__('witness')
        self.random = np.random.default_rng(seed)
        self.hands = [Hand(self, pair, k, name, self.random) for k, name in enumerate(names)]
        self.seen: list[list[Seen]] = [[] for _ in names]
        self.create_subscription(JointState, 'joint_states', self._on_state, ALL)
        self._executor = make_executor()
        self._executor.add_node(self)

    def _on_state(self, message: JointState) -> None:
        at = message.header.stamp.sec % 100_000 + 1e-9 * message.header.stamp.nanosec
        values = dict(zip(message.name, zip(message.position, message.velocity)))
        for hand, seen in zip(self.hands, self.seen):
            if hand.chain.joint_names[0] in values:
                q, qd = zip(*(values[name] for name in hand.chain.joint_names))
                seen.append(Seen(at, q, qd))
                hand.q = np.array(q)

    def spin(self, seconds: float, until=lambda: False) -> bool:
        """Receive for some time, or until something holds; return whether it does."""
        end = monotonic() + seconds
        while not until():
            if monotonic() > end:
                return False
            self._executor.spin_once(timeout_sec=0.01)
        return True


class Judged(NamedTuple):
    """What was recorded of both arms, by the raw meshes."""

    touching: int
    count: int       # of postures that were judged
    least: float     # distance, m
    unseen: float    # s in which an arm was not seen for longer than UNSEEN_S

    def __str__(self) -> str:
        """Return that in words."""
        return (f'{self.touching} of {self.count:,} postures touch, the arms are '
                f'{1e3 * self.least:.1f} mm apart at least' + (
                    f'; {self.unseen:.1f} s are not judged, as a controller said nothing'
                    if self.unseen else ''))


def judged(pair: Pair, seen: list[list[Seen]], scene: Scene) -> Judged:
    """Return how near both arms were to each other and to a scene."""
    times = [np.array([one.at for one in each]) for each in seen]
    values = [np.array([one.q for one in each]) for each in seen]
    begin, end = max(t[0] for t in times), min(t[-1] for t in times)
    grid = np.unique(np.concatenate([t[(t >= begin) & (t <= end)] for t in times]))
    Q, known = np.empty((len(grid), pair.tree.n)), np.ones(len(grid) - 1, dtype=bool)
    for k in range(2):
        order = np.argsort(times[k], kind='stable')
        for joint, column in enumerate(pair.columns(k)):
            Q[:, column] = np.interp(grid, times[k][order], values[k][order, joint])
        # Between states that are far apart it may have gone another way.
        after = np.searchsorted(times[k][order], grid[:-1], side='right')
        known &= np.diff(times[k][order])[after - 1] <= UNSEEN_S
    steps = np.where(known, np.maximum(1, np.ceil(
        REACH_M * np.abs(np.diff(Q, axis=0)).max(axis=1) / STEP_M)), 0)
    at = np.concatenate([k + np.arange(n) / n for k, n in enumerate(steps.astype(int)) if n])
    fine = np.array([np.interp(at, np.arange(len(Q)), column) for column in Q.T]).T
    near = fine[pair.near(fine, scene)]
    model = pin.buildModelFromXML(pair.text)
    geometry = pin.buildGeomFromUrdfString(model, pair.text, pin.COLLISION,
                                           package_dirs=[str(REAL.parent.parent)])
    carried = [{k for k in range(1, model.njoints)
                if any(model.names[j] in names for j in model.supports[k])}
               for names in (chain.joint_names for chain in pair.chains)]
    base = model.frames[model.getFrameId(pair.base)]
    for body in scene.bodies:
        for part in body.parts:  # boxes
            geometry.addGeometryObject(pin.GeometryObject(
                body.name, base.parentJoint, base.placement * pin.SE3(part.T),
                coal.Box(*part.size)))
    objects, names = geometry.geometryObjects, {body.name for body in scene.bodies}
    geometry.removeAllCollisionPairs()
    for i, one in enumerate(objects):
        for j, other in enumerate(objects):
            if one.parentJoint in carried[0] and other.parentJoint in carried[1] \
                    or one.parentJoint in carried[0] | carried[1] and other.name in names:
                geometry.addCollisionPair(pin.CollisionPair(i, j))
    data, look, q = model.createData(), pin.GeometryData(geometry), pin.neutral(model)
    ids = [model.joints[model.getJointId(name)] for name in pair.tree.joint_names]
    touching, least = 0, np.inf
    for posture in near:
        for joint, value in zip(ids, posture):
            if joint.nq == 1:
                q[joint.idx_q] = value
            else:
                q[joint.idx_q:joint.idx_q + 2] = np.cos(value), np.sin(value)
        touching += pin.computeCollisions(model, data, geometry, look, q, True)
        pin.computeDistances(model, data, geometry, look, q)
        least = min(least, min(each.min_distance for each in look.distanceResults))
    return Judged(touching, len(fine), least, float(np.diff(grid)[~known].sum()))


def controllers(stack: ExitStack, pair: Pair, urdf: FilePath, rate: float,
                q: np.ndarray, folder: FilePath) -> None:
    """Start a simulated controller for each arm."""
    for k, side in enumerate(SIDES):
        start = ', '.join(f'{value:.17g}' if value % 1.0 else f'{value:.1f}'
                          for value in q[pair.columns(k)])
        (folder / side).mkdir(exist_ok=True)
        stack.enter_context(running('sim_controller', [
            '--ros-args', '-r', f'__node:={side}_controller',
            '-r', f'joint_trajectory:={side}_controller/joint_trajectory',
            '-p', f'urdf_file:={urdf}', '-p', f'base_link:={pair.base}',
            '-p', f'tip_link:={pair.tips[k]}', '-p', 'fixed_joints:=false',
            '-p', f'initial_positions:=[{start}]', '-p', f'rate:={rate:.1f}'], folder / side))


def arms_node(pair: Pair, urdf: FilePath, scene: FilePath) -> list[str]:
    """Return the arguments of ik_arms."""
    joints = ', '.join(f"'{' '.join(chain.joint_names)}'" for chain in pair.chains)
    return ['--ros-args', '-p', f'urdf_file:={urdf}', '-p', f'base_link:={pair.base}',
            '-p', f'tip_links:=[{", ".join(pair.tips)}]', '-p', 'arms:=[left, right]',
            '-p', 'controllers:=[left_controller, right_controller]',
            '-p', f'controller_joints:=[{joints}]', '-p', f'mesh_paths:=[{REAL.parent.parent}]',
            '-p', f'collision.margin:={MARGIN_M}', '-p', f'collision.scene_file:={scene}']


def at_random(witness: Witness, goals: int) -> None:
    """Send goals to both arms at random times, and stops, until each arm has had as many."""
    while min(len(hand.sent) for hand in witness.hands) < goals:
        hand = witness.hands[int(witness.random.integers(2))]
        if len(hand.sent) < goals:
            hand.send()
        if witness.random.random() < 0.03:
            hand.stop.call_async(Trigger.Request())
        witness.spin(witness.random.uniform(0.05, 1.0))
    witness.spin(PATIENCE_S, lambda: not any(hand.open for hand in witness.hands))
    witness.spin(SETTLE_S)


def seconds_for(witness: Witness, count: int, turns: bool) -> float:
    """Return the time (s) in which each arm ends as many goals, in turns or at once."""
    begin, left = monotonic(), [count, count]
    open_goals = ['', '']
    turn = 0
    while any(left) or any(open_goals):
        for k, hand in enumerate(witness.hands):
            if open_goals[k] and open_goals[k] in hand.final:
                open_goals[k] = ''
                turn = 1 - k
        for k, hand in enumerate(witness.hands):
            if not open_goals[k] and left[k] and (not turns or turn == k and not any(open_goals)):
                open_goals[k] = hand.send(0.0)
                left[k] -= 1
        if any(open_goals) and not witness.spin(PATIENCE_S, lambda: any(
                stamp in hand.final for stamp, hand in zip(open_goals, witness.hands) if stamp)):
            raise SystemExit(f'no answer within {PATIENCE_S:g} s')
    return monotonic() - begin


@contextmanager
def started(pair: Pair, options: argparse.Namespace, q: np.ndarray,
            scene: Scene) -> Iterator[tuple[Witness, int, FilePath]]:
    """Run a robot from a posture (n,); yield the witness, and the process and log of ik_arms."""
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = FilePath(name)
        urdf, objects, log = folder / 'robot.urdf', folder / 'scene.yaml', folder / 'ik_arms.log'
        urdf.write_text(pair.text)
        objects.write_text('objects:' + (''.join(
            f'\n  {body.name}: {{box: {[*part.size]}, xyz: {part.T[:3, 3].tolist()}}}'
            for body in scene.bodies for part in body.parts) or ' {}') + '\n')
        controllers(stack, pair, urdf, options.rate, q, folder)
        process = stack.enter_context(running('ik_arms', arms_node(pair, urdf, objects), folder))
        witness = Witness(pair, ('/ik_arms/left', '/ik_arms/right'), options.seed)
        stack.callback(witness.destroy_node)
        for hand, side in zip(witness.hands, SIDES):
            if not all(greet(witness, f"/ik_arms/{side}", PATIENCE_S, each,
                             lambda condition, seconds: witness.spin(seconds, condition))
                       for each in hand.publishers):
                raise SystemExit(log.read_text())
        witness.spin(PATIENCE_S, lambda: all(witness.seen))
        witness.spin(START_S)
        yield witness, process.pid, log
        if options.log:
            print(log.read_text())


def measure(pair: Pair, options: argparse.Namespace) -> None:
    """Measure and judge goals of one robot."""
    q = pair.posture(np.random.default_rng(options.seed))
    with started(pair, options, q, Scene()) as (witness, _, _):
        at_random(witness, options.goals)
        reasons = Counter(reason for hand in witness.hands for reason in hand.final.values())
        waits = [hand.accepted[stamp] - hand.sent[stamp] for hand in witness.hands
                 for stamp in hand.accepted]
        missing = sum(len(hand.open) for hand in witness.hands)
        twice = sum(hand.twice for hand in witness.hands)
        found = judged(pair, witness.seen, Scene())
        print(f'{pair.name}, {options.rate:g} Hz: {2 * options.goals} goals, {missing} without an '
              f'answer, {twice} answered twice; '
              + ', '.join(f'{n} {reason}' for reason, n in reasons.most_common())
              + f'; accepted after {1e3 * np.median(waits):.1f} ms (median). {found}.',
              flush=True)
        if options.throughput:
            turns, both = (seconds_for(witness, options.throughput, each)
                           for each in (True, False))
            print(f'    {options.throughput} goals for each arm: {turns:.0f} s in turns, '
                  f'{both:.0f} s at once, {turns / both:.2f} x', flush=True)


def measure_stream(pair: Pair, options: argparse.Namespace) -> None:
    """Stream to both hands of one robot at the same time, and judge what they did."""
    q, table = pair.above_table(np.random.default_rng(options.seed))
    homes = [pair.tree.fk(q)[tip] for tip in pair.tips]
    with started(pair, options, q, table) as (witness, process, _):
        begin_streams(witness, homes)
        idle = processor_share(witness, process, IDLE_S)
        for seen in witness.seen:
            seen.clear()
        busy = processor_share(witness, process, options.stream, homes)
        found = judged(pair, witness.seen, table)
        share = max(map(velocity_step, pair.chains, witness.seen))
        path = [np.linalg.norm(np.diff([forward_kinematics(chain, np.array(one.q))[:3, 3]
                                        for one in seen], axis=0), axis=1).sum()
                for chain, seen in zip(pair.chains, witness.seen)]
        print(f'{pair.name}, {options.rate:g} Hz: both hands streamed to for '
              f'{options.stream:g} s, {path[0]:.1f} m and {path[1]:.1f} m. '
              f'{1e3 * CYCLE_S * busy:.2f} ms of processor time for each {1e3 * CYCLE_S:g} ms, '
              f'{1e3 * CYCLE_S * idle:.2f} ms at rest. '
              f'{found}. Largest step of a velocity: {share:.3f} of what its acceleration allows.',
              flush=True)


def begin_streams(witness: Witness, homes: Sequence[np.ndarray]) -> None:
    """Stream where the hands are, until both arms have taken that, with all code compiled."""
    end = monotonic() + PATIENCE_S
    while not all(hand.accepted for hand in witness.hands):
        if monotonic() > end:
            raise SystemExit(f'no stream began within {PATIENCE_S:g} s')
        for hand, T in zip(witness.hands, homes):
            hand.lead(T)
        witness.spin(CYCLE_S)
    witness.spin(START_S)


def processor_share(witness: Witness, process: int, seconds: float,
                    homes: Sequence[np.ndarray] = ()) -> float:
    """Return the share of a processor that a process uses, while hands are led from `homes`."""
    begin, used = monotonic(), processor_time(process)
    for k in range(1, round(seconds / CYCLE_S) + 1):
        t = k * CYCLE_S
        witness.spin(begin + t - monotonic())
        for hand, T, other, swap, dip in zip(witness.hands, homes, homes[::-1], SWAP_PERIODS_S,
                                             DIP_PERIODS_S):
            target = T.copy()
            target[:3, 3] += 0.5 * (1.0 - np.cos(2.0 * np.pi * t / swap)) * (other - T)[:3, 3]
            target[2, 3] -= 0.5 * (1.0 - np.cos(2.0 * np.pi * t / dip)) * DIP_M
            hand.lead(target)
    return (processor_time(process) - used) / (monotonic() - begin)


def processor_time(process: int) -> float:
    """Return the processor time (s) of all threads of a process."""
    fields = FilePath(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def velocity_step(chain: Chain, seen: list[Seen]) -> float:
    """Return the largest change of a velocity, as a share of what its acceleration allows."""
    times, qd = np.array([one.at for one in seen]), np.array([one.qd for one in seen])
    order = np.argsort(times, kind='stable')
    allowed = np.diff(times[order])[:, None] * MotionLimits.of_joints(chain).acceleration
    return float((np.abs(np.diff(qd[order], axis=0)) / allowed).max())


def main() -> None:
    """Measure the robots that are asked for."""
    known = pairs()
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--robots', nargs='*', default=list(known), choices=known)
    parser.add_argument('--goals', type=int, default=1000, help='of each arm')
    parser.add_argument('--rate', type=float, default=100.0, help='of the controllers, Hz')
    parser.add_argument('--throughput', type=int, default=30, help='goals of each arm; 0: none')
    parser.add_argument('--stream', type=float, default=0.0,
                        help='stream to both hands for that long instead, s')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--log', action='store_true', help='print what the node logs')
    options = parser.parse_args()
    rclpy.init()
    for name in options.robots:
        (measure_stream if options.stream else measure)(known[name], options)
    leave(None, 0)


if __name__ == '__main__':
    main()
