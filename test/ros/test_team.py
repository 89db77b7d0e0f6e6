# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What arms of one robot know of each other: lateness, order, what they hold."""

from time import monotonic
from types import SimpleNamespace

import numpy as np
import pytest
from two_arms import both, model, TREE

from ik_node.base.errors import StateError, TrajectoryError
from ik_node.collision import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.model.chain import make_chain
from ik_node.motion.change.active_trajectory import ActiveTrajectory
from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.trajectory import MotionState
from ik_node.node.state.team import OtherArmError, TeamModels, TeamSeat

CHAINS = {'left': make_chain(TREE.tree, 'base_link', 'left_tool'),
          'right': make_chain(TREE.tree, 'torso', 'right_tool')}
INSIDE, OUTSIDE = both(pan=-0.45, lift=0.3, elbow=-0.6), both(pan=0.7, lift=0.3, elbow=-0.6)


class ArmStub:
    """An arm that is where it is told to be."""

    def __init__(self, name, q):
        self.chain, self.cycle, self.age = CHAINS[name], 0.01, 0.0
        self.columns = [TREE.joint_names.index(joint) for joint in self.chain.joint_names]
        self.q = q[self.columns]
        ones = np.ones(self.chain.n)
        fast = 0.1 if name == 'left' else 2.0
        self.limits = MotionLimits(self.chain.lower, self.chain.upper, fast * ones, 4.0 * ones,
                                   40.0 * ones)
        held = SimpleNamespace(objects=(), margin=0.01, touch_links={}, chain=self.chain)
        self.robot = SimpleNamespace(
            chain=self.chain, tree=TREE.tree, active=None, scene=SimpleNamespace(version=0),
            settings=SimpleNamespace(solver=SimpleNamespace(collisions=held), surroundings=0,
                                     tool=None))

    def last(self, _robot):
        return self.q, self.age

    def measured_ago(self, _robot):
        return self.age

    def fresh(self, _robot):
        return self.q, np.zeros(self.chain.n)

    def delivery(self):
        return 0.03

    def planned(self, q):
        return plan_point_to_point(
            self.chain.joint_names, StartState.from_state(MotionState.at_rest(self.q)),
            q[self.columns], self.limits, 0.1, self.chain)

    def moves(self, trajectory, since):
        """Be on a motion, as planned, that began some time (s) ago."""
        self.robot.active = ActiveTrajectory(trajectory, monotonic() - since, self.limits, 1)
        self.q = self.robot.active.states(np.array([since]))[0, 0]


def team(left, right):
    """Return two seats and their arms, in postures of both."""
    seats = []
    models = TeamModels(seats, model)
    arms = ArmStub('left', left), ArmStub('right', right)
    for name, arm in zip(CHAINS, arms):
        seats.append(TeamSeat(name, 'base_link', seats, models, lambda: False, lambda _: ''))
        seats[-1].join(SimpleNamespace(robot=arm.robot), arm, lambda: None)
    return (*seats, *arms)


def test_what_meets_an_arm_under_way_waits_and_what_meets_one_at_rest_is_refused():
    """And once that has left, it is free."""
    left, right, left_arm, right_arm = team(INSIDE, OUTSIDE)
    enters = right_arm.planned(INSIDE)
    with pytest.raises(TrajectoryError, match='left_.* and .right_') as refused:
        right.require_apart(enters, monotonic())
    assert not isinstance(refused.value, OtherArmError)
    leaves = left_arm.planned(OUTSIDE)
    left.require_apart(leaves, monotonic())
    left_arm.moves(leaves, 0.01)
    with pytest.raises(OtherArmError, match="as 'left' moves"):
        right.require_apart(enters, monotonic())
    left_arm.moves(leaves, leaves.duration - 0.05)
    right.require_apart(enters, monotonic())


def test_what_was_proved_is_looked_at_again_when_the_other_arm_is_late():
    """Nothing is as long as both are where they should be."""
    left, right, left_arm, right_arm = team(INSIDE, OUTSIDE)
    leaves, enters = left_arm.planned(OUTSIDE), right_arm.planned(INSIDE)
    since = 0.01
    left.require_apart(leaves, monotonic())
    left_arm.moves(leaves, since)
    while True:  # until the right arm may begin
        try:
            right.require_apart(enters, monotonic())
            break
        except OtherArmError:
            since += 0.02
            left_arm.moves(leaves, since)
    right_arm.moves(enters, 0.02)
    active = right_arm.robot.active
    assert right.contact_now(active) is None
    left_arm.q = left_arm.robot.active.states(np.array([since - 0.6]))[0, 0]  # it lags
    assert right.contact_now(active) is not None


@pytest.mark.parametrize('short', (0.0, 2e-4, 1e-3))
def test_an_arm_that_stops_a_little_short_is_not_late(short):
    """Its controller leaves an error at the end; one that was slowed down is late."""
    left, _, arm, _ = team(INSIDE, OUTSIDE)
    trajectory = arm.planned(OUTSIDE)
    arm.moves(trajectory, trajectory.duration + 0.1)
    arm.q = trajectory.end - short * np.sign(trajectory.end - trajectory.start.q)
    assert left._off(arm.robot.active) == (0.0, 0.0)
    arm.moves(trajectory, 0.5 * trajectory.duration)
    arm.q = arm.robot.active.states(np.array([0.5 * trajectory.duration - 0.3]))[0, 0]
    late, _ = left._off(arm.robot.active)
    assert 0.25 <= late <= 0.35


def test_who_has_waited_longest_goes_first():
    """Until its goal has ended or begun."""
    left, right, *_ = team(INSIDE, OUTSIDE)
    ended = []
    left.waits(lambda: bool(ended))
    assert right.gives_way() and not left.gives_way()
    right.waits(lambda: False)
    assert right.gives_way() and not left.gives_way()
    ended.append(True)
    assert not right.gives_way() and left.gives_way()
    right.begins()
    assert not left.gives_way()


def test_what_an_arm_holds_is_kept_apart_from_the_other():
    """A box in the left hand, where the hand alone has room."""
    left, _, arm, _ = team(OUTSIDE, OUTSIDE)
    nears = arm.planned(both(pan=0.1, lift=0.3, elbow=-0.6))
    left.require_apart(nears, monotonic())
    scene = Scene('base_link', TREE.tree.links)
    scene.add_box('box', (1.8, 1.8, 1.8), frame='left_tool')
    arm.robot.settings.solver.collisions.objects = scene.snapshot.bodies
    arm.robot.scene.version += 1
    with pytest.raises(TrajectoryError, match="'box'"):
        left.require_apart(nears, monotonic())


def test_an_arm_that_has_left_is_no_part_of_what_is_proved():
    """It is checked by the model of the arm itself again, as any joint beside it."""
    left, right, *_ = team(INSIDE, OUTSIDE)
    whole = CollisionModel(CHAINS['left'], TREE.tree, arm_bodies(TREE.tree).bodies)
    without = left.without_others(whole)
    assert len(without.pairs.pairs) < len(whole.pairs.pairs)
    right.leave()
    assert right.robot is None and len(left.without_others(whole).pairs.pairs) \
        == len(whole.pairs.pairs)


def test_where_an_arm_is_has_to_be_known():
    """The error of its joint states is told."""
    left, _, left_arm, right_arm = team(INSIDE, OUTSIDE)

    def stale(_robot):
        raise StateError('the joint states are 3 s old')

    right_arm.fresh = stale
    with pytest.raises(StateError, match="'right' may be in the way: the joint states are 3 s"):
        left.require_apart(left_arm.planned(OUTSIDE), monotonic())


def test_joints_that_carry_another_arm_are_in_use_while_that_is_under_way():
    """The torso, which belongs to the left arm; nothing that is the right arm's own."""
    left, right, left_arm, right_arm = team(OUTSIDE, OUTSIDE)
    assert left.joints_in_use() == right.joints_in_use() == frozenset()
    right_arm.moves(right_arm.planned(INSIDE), 0.01)
    assert left.joints_in_use() == {'torso_joint'}
    left_arm.moves(left_arm.planned(INSIDE), 0.01)
    assert right.joints_in_use() == frozenset()


@pytest.mark.parametrize('kind', ['stream', 'jog', 'chunk', 'paused'])
def test_what_may_never_end_is_refused_to_goals_in_step(kind):
    """And not what ends by itself."""
    left, _, left_arm, _ = team(OUTSIDE, OUTSIDE)
    left.require_no_open_end()
    for each, holds in (('pose', False), (kind, True)):
        left.join(SimpleNamespace(robot=left_arm.robot), left_arm, lambda each=each: each)
        if holds:
            with pytest.raises(StateError, match="the arm 'left'"):
                left.require_no_open_end()
        else:
            left.require_no_open_end()
