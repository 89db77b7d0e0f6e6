# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Joints without limits: the angle by the shortest way, or whole turns where they are asked."""

from math import pi

from harness import ARM, latest, lent, Probe, QUICK, READY, reasons, run_system
import numpy as np
import pytest

TURN = 2.0 * pi


@pytest.fixture(scope='module')
def shared(tmp_path_factory, recorded):
    """Run a system whose joint_6 has no limits."""
    folder = tmp_path_factory.mktemp('turns')
    urdf = folder / 'arm.urdf'
    text = ARM.read_text()
    urdf.write_text(text.replace('name="joint_6" type="revolute"',
                                 'name="joint_6" type="continuous"'))
    assert urdf.read_text() != text
    probe = Probe()
    with run_system(folder, probe, {'urdf_file': urdf, **QUICK}, {'urdf_file': urdf}):
        yield probe
    probe.destroy_node()


@pytest.fixture
def arm(shared):
    """Lend it at READY."""
    with lent(shared) as probe:
        yield probe


def send(arm, turned):
    """Send joint_6 to a position; return the answer and where it is measured then."""
    stamp = arm.send_joints([*READY[:5], turned])
    assert reasons(arm, stamp)[-1] in ('REACHED', 'ALREADY_THERE', 'TRAJECTORY_INVALID')
    return arm.final(stamp), latest(arm)[5]


def test_the_shortest_way_is_told(arm):
    """The turns that are left out stand in the answer; there are none to tell at an angle."""
    answer, position = send(arm, 160.0)
    assert abs(position - (160.0 - 25 * TURN)) < 1e-5
    assert answer['left_out_turns'] == "25 of 'joint_6'"
    assert answer['message'].endswith(
        "whole turns are left out, 25 of 'joint_6', as motion.whole_turns is not set")
    assert 'left_out_turns' not in send(arm, 2.0)[0]


def test_turns_that_are_asked_for(arm):
    """There and back, to the number; and none where the arm is."""
    arm.change('/ik_node', motion__whole_turns=True, motion__velocity_scale=1.0)
    for turned in (READY[5] + 2 * TURN, READY[5]):
        before = latest(arm)[5]
        arm.trajectories.clear()
        answer, position = send(arm, turned)
        assert abs(position - turned) < 1e-5 and 'left_out_turns' not in answer
        way = np.array([point.positions[5] for point in arm.trajectories[0].points])
        assert np.ptp(way) == pytest.approx(abs(turned - before), abs=1e-6)
    assert send(arm, READY[5])[0]['reason'] == 'ALREADY_THERE'


def test_too_many_turns(arm):
    """A motion without end is refused, with how many are made."""
    arm.change('/ik_node', motion__whole_turns=True)
    answer, _ = send(arm, 101 * TURN)
    assert answer['state'] == 'rejected'
    assert "'joint_6' would make 101 turns; at most 100 are made in one motion" \
        in answer['message']
