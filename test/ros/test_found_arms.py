# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""ik_arms from a URDF alone: Baxter's arms are found, and so are their controllers."""

from contextlib import ExitStack

from arms_rig import ArmsProbe
from harness import ARM, COLD_START, Probe, process
import numpy as np
import pytest
import robots
from sensor_msgs.msg import JointState

from ik_node.kinematics.tree.kinematic_tree import make_tree
from ik_node.model.arms import robot_arms, simulated
from ik_node.model.description.urdf import read_urdf
from ik_node.ros.middleware.handshake import greet

BAXTER = robots.REAL / 'baxter_description/urdf/baxter.urdf'
TREE = read_urdf(BAXTER)
ARMS = robot_arms(TREE)
BOTH = make_tree(TREE, 'base', ('left_gripper', 'right_gripper'))
TURN = 0.2  # rad, of each joint
PATIENT = {'state.timeout': 5.0}  # nothing here is about joint states that are late


@pytest.fixture(scope='module')
def baxter(tmp_path_factory):
    """
    Start the node, then the controllers; return a probe that hears both.

    That the probe listens to trajectories does not make it a controller.
    """
    folder = tmp_path_factory.mktemp('baxter')
    probe = ArmsProbe(['left_arm_controller', 'right_arm_controller'])
    with ExitStack() as stack:
        stack.callback(probe.destroy_node)
        probe.node = stack.enter_context(process(
            'ik_arms', folder, {'urdf_file': BAXTER, 'motion.velocity_scale': 1.0, **PATIENT}))
        assert greet(probe, '/ik_arms', COLD_START, probe.poses)
        probe.wait(lambda: 'the arms wait for their controllers' in probe.node.output, 60.0)
        refused = probe.final(probe.send_poses(2 * [np.eye(4)], 'base'))
        assert refused['reason'] == 'NO_LISTENER', refused
        assert "none is up for left_s0, left_s1, " in refused['message']
        for name, parameters in simulated(TREE, ARMS).items():
            (folder / name).mkdir()
            stack.enter_context(process(
                'sim_controller', folder / name, {'urdf_file': BAXTER, **parameters},
                remap={'__node': name, 'joint_trajectory': f'{name}/joint_trajectory'}))
        probe.wait(lambda: "ready for 'left_" in probe.node.output, 60.0, 'the robot')
        yield probe


def positions(probe):
    """Return the latest position of each joint that is published."""
    known = {}
    for _, message in probe.states[-50:]:
        known |= dict(zip(message.name, message.position))
    return known


def test_the_log_says_which_arms_there_are(baxter):
    """With base, tip and controller."""
    for side in ('left', 'right'):
        assert (f"the arm '{side}': 'base' -> '{side}_gripper', 7 joints of {side}_arm_controller"
                in baxter.node.output)
    assert "ready for 'left_gripper', 'right_gripper' in 'base': 14 joints of 2 controllers" \
        in baxter.node.output


def test_every_joint_is_published_once(baxter):
    """What no controller moves, by the first one: the head stands still."""
    baxter.wait(lambda: {'head_pan', *BOTH.joint_names} <= positions(baxter).keys())
    publishers = {}
    for _, message in baxter.states[-50:]:
        for name in message.name:
            publishers.setdefault(name, set()).add(tuple(message.name))
    assert all(len(by) == 1 for by in publishers.values())


@pytest.mark.parametrize('side', ['left', 'right'])
def test_each_arm_reaches_a_goal(baxter, side):
    """By the node of its own; the other arm stays where it is."""
    arm = Probe(f'{side}_probe', f'/ik_arms/{side}')
    arm.watch_motion()
    try:
        arm.wait_for_node()
        arm.wait_until_ready()
        arm.wait(lambda: {*BOTH.joint_names} <= positions(arm).keys())
        start = positions(arm)
        there = {name: start[name] + TURN * np.sign(middle - start[name] or 1.0)
                 for name, middle in zip(BOTH.joint_names, BOTH.middle)
                 if name in ARMS.controllers[f'{side}_arm_controller']}
        stamp = arm.send_goal('joints', JointState(name=[*there], position=[*there.values()]), '')
        assert arm.final(stamp)['reason'] == 'REACHED', arm.final(stamp)
        arm.states.clear()
        arm.wait(lambda: {*BOTH.joint_names} <= positions(arm).keys())
        reached = positions(arm)
    finally:
        arm.destroy_node()
    for name in BOTH.joint_names:
        assert abs(reached[name] - there.get(name, start[name])) < 1e-3, name


def test_both_reach_their_goals_in_step(baxter):
    """In the order of the names, in the frame of any link."""
    known = positions(baxter)
    q = BOTH.positions(known)
    goal = q + TURN * np.sign(BOTH.middle - q)
    stamp = baxter.send_poses(list(BOTH.fk(goal).values()), 'base')
    assert baxter.final(stamp)['reason'] == 'REACHED', baxter.final(stamp)
    baxter.states.clear()
    baxter.wait(lambda: {*BOTH.joint_names} <= positions(baxter).keys())
    reached = BOTH.fk(BOTH.positions(positions(baxter)))
    for tip, T in BOTH.fk(goal).items():
        assert np.abs(T - reached[tip]).max() < 1e-3


def test_a_robot_with_one_arm_is_refused(tmp_path):
    """One sentence, with what there is; exit code 1."""
    with process('ik_arms', tmp_path, {'urdf_file': ARM}) as node:
        assert node.wait(60.0) == 1
        assert 'no two arms of 5 to 7 joints on one link were found; name the tips of the arms ' \
            "by tip_links, or move the one arm by ik_node; chains in the URDF: 'base_link' -> " \
            "'tool0' (6 joints)" in node.output
