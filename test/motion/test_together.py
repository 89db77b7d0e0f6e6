# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Motions of two arms, each on its own clock: what is proved keeps apart, whoever is late."""

import numpy as np
import pytest
from two_arms import ARM_JOINTS, both, MARGIN_M, model, oracle, TREE

from ik_node.motion.direct.point_to_point import plan_point_to_point, StartState
from ik_node.motion.together import ArmMotion, contact_between, laid_over
from ik_node.motion.trajectory.limits import MotionLimits
from ik_node.motion.trajectory.sampling import states_at
from ik_node.motion.trajectory.trajectory import MotionState, Trajectory

COLUMNS = {name: np.array([TREE.joint_names.index(joint) for joint in joints])
           for name, joints in ARM_JOINTS.items()}
LEFT, RIGHT = COLUMNS.values()
LATE_S = 0.03
BETWEEN = model().between(list(ARM_JOINTS.values()))


def planned(columns, q0, q1):
    """Return a motion of one arm from rest to rest."""
    ones = np.ones(len(columns))
    limits = MotionLimits(TREE.lower[columns], TREE.upper[columns], 1.5 * ones, 4.0 * ones,
                          40.0 * ones)
    return plan_point_to_point(tuple(TREE.joint_names[k] for k in columns),
                               StartState.from_state(MotionState.at_rest(q0)), q1, limits, 0.1)


def positions(motion, times):
    """Return the joints (k, m) of an arm at times (k,), s."""
    if not isinstance(motion.trajectory, Trajectory):
        return np.tile(motion.trajectory, (len(times), 1))
    return states_at(motion.trajectory, np.clip(
        times - motion.begin, 0.0, motion.trajectory.duration))[:, 0]


def together(motions, times, shifts=(0.0, 0.0)):
    """Return postures (k, n) of the robot, of which each arm is late by a shift (s)."""
    Q = np.empty((len(times), TREE.n))
    for motion, shift in zip(motions, shifts):
        Q[:, motion.joints] = positions(motion, times - shift)
    return Q


def random_motions(random, way=None):
    """
    Return two motions that begin at different times, in the space that both arms share.

    With a `way` (rad) no joint goes farther.
    """
    ends = []
    while len(ends) < 2:
        q = both(pan=random.uniform(-0.7, -0.1), lift=random.uniform(-0.3, 0.3),
                 elbow=random.uniform(-0.5, 0.2))
        q[LEFT] += random.normal(0.0, 0.35, len(LEFT))
        q = np.clip(q, TREE.lower, TREE.upper)
        if ends and way is not None:
            q = np.clip(ends[0] + random.uniform(-way, way, TREE.n), TREE.lower, TREE.upper)
        if model().check_many(q[None])[0]:
            ends.append(q)
    begins = random.uniform(-0.8, 0.8, 2)
    return [ArmMotion(joints, planned(joints, ends[0][joints], ends[1][joints]), begin, LATE_S)
            for joints, begin in zip((LEFT, RIGHT), begins)]


def test_motions_laid_over_each_other_are_those_of_both():
    """Every position and every speed, also of an arm that has ended or not begun."""
    random = np.random.default_rng(1)
    for _ in range(5):
        motions = random_motions(random)
        begins, lengths, c, slack = laid_over(TREE.n, motions)
        assert begins[0] == 0.0 and np.allclose(begins[1:], (begins + lengths)[:-1])
        assert begins[-1] + lengths[-1] >= max(m.begin + m.trajectory.duration for m in motions)
        for share in (0.0, 0.4, 1.0):
            t = share * lengths
            Q = sum(c[k] * t[:, None] ** k for k in range(6))
            assert np.allclose(Q, together(motions, begins + t), atol=1e-9)
            late = np.abs(Q - together(motions, begins + t, (LATE_S, -LATE_S)))
            assert (late <= slack + 1e-9).all()


@pytest.mark.parametrize('way, count', [(None, 150), (0.2, 400)])
def test_what_is_proved_keeps_apart_whoever_is_late(way, count):
    """Every 2 ms, with either arm late or early by as much as is allowed for; short ones, too."""
    random, proved, refused = np.random.default_rng(2), 0, 0
    for _ in range(count):
        motions = random_motions(random, way)
        times = np.arange(0.0, max(m.begin + m.trajectory.duration for m in motions) + 0.1, 2e-3)
        contact = contact_between(BETWEEN, motions)
        if contact is None:
            proved += 1
            for shifts in ((0.0, 0.0), (LATE_S, -LATE_S), (-LATE_S, LATE_S), (LATE_S, 0.0)):
                assert BETWEEN.check_many(together(motions, times, shifts)).all()
            continue
        refused += 1
        # There is a doubt: it becomes too near if the arms are late by little more.
        near = min(BETWEEN.distance(together(motions, np.array([contact.time]), shifts)[0])[0]
                   for shifts in ((0.0, 0.0), (LATE_S, -LATE_S), (-LATE_S, LATE_S)))
        assert near < MARGIN_M + 0.1
    assert proved >= 10 and refused >= 10


def test_what_is_proved_keeps_apart_by_an_oracle():
    """By Pinocchio and coal, the two arms of a motion that is proved."""
    random, judge, judged = np.random.default_rng(3), oracle(model()), 0
    keeps = np.array([any(BETWEEN.names_of(k) == model().names_of(i) for k in range(
        len(BETWEEN.pairs.pairs))) for i in range(len(model().pairs.pairs))])
    while judged < 40:
        motions = random_motions(random)
        if contact_between(BETWEEN, motions) is None:
            for q in together(motions, np.linspace(0.0, 1.5, 10)):
                assert (judge.distances(q) > model().margins - 3e-6)[keeps].all()
                judged += 1


@pytest.mark.parametrize('late', (0.0, LATE_S))
def test_arms_that_cross_at_different_times_are_free(late):
    """The right hand goes through where the left one was, once that has left."""
    inside, outside = both(pan=-0.5), both(pan=0.9)
    leaves = ArmMotion(LEFT, planned(LEFT, inside[LEFT], outside[LEFT]), 0.0, late)
    enters = planned(RIGHT, outside[RIGHT], inside[RIGHT])
    after = ArmMotion(RIGHT, enters, leaves.trajectory.duration, late)
    assert contact_between(BETWEEN, [leaves, after]) is None
    stays = ArmMotion(LEFT, inside[LEFT])
    contact = contact_between(BETWEEN, [stays, ArmMotion(RIGHT, enters, 0.0, late)])
    assert contact is not None and 'left' in ''.join(contact.names) \
        and 'right' in ''.join(contact.names)


def test_arms_that_are_near_can_part():
    """As one rests, it does not matter how late the other is."""
    random, parted = np.random.default_rng(6), 0
    while parted < 15:
        q = both(pan=random.uniform(-0.5, 0.0), lift=random.uniform(-0.3, 0.3))
        if not MARGIN_M + 1e-4 < BETWEEN.distance(q)[0] < 0.03:
            continue
        away = planned(RIGHT, q[RIGHT], (q + both(pan=0.3) - both())[RIGHT])
        rests = ArmMotion(LEFT, q[LEFT], 0.0, LATE_S)
        assert contact_between(BETWEEN, [ArmMotion(RIGHT, away), rests]) is None
        parted += 1


def test_arms_alongside_each_other_are_decided():
    """Of hands that move side by side, at about the distance that lateness takes, too."""
    q0, q1 = both(pan=0.3, lift=-0.4), both(pan=0.3, lift=0.5)
    for pan in np.linspace(-0.1, 0.15, 20):
        moved = [q + both(pan=pan) - both() for q in (q0, q1)]
        contact_between(BETWEEN, [ArmMotion(joints, planned(joints, moved[0][joints],
                                                            moved[1][joints]), 0.0, LATE_S)
                                  for joints in (LEFT, RIGHT)])


def test_arms_at_rest_are_free():
    """Nothing moves."""
    apart = [ArmMotion(columns, both(pan=0.4)[columns]) for columns in (LEFT, RIGHT)]
    assert contact_between(BETWEEN, apart) is None
