# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Both hands of a robot streamed at the same time: what each is sent is proved."""

from time import monotonic

from arms_rig import begins_anew, running
from geometry_msgs.msg import PoseStamped
from harness import FINAL, pose
import numpy as np
import pytest
from test_arms import assert_apart
from two_arms import ARM_JOINTS, both, model, TREE

pytestmark = pytest.mark.real_time
SIDES = 'left', 'right'
APART = both(pan=0.5, lift=0.3, elbow=-0.6)
# Neither sees anything that is near: only what is proved keeps them apart.
BLIND = """
from ik_node.motion.following.collision_guard import CollisionGuard
CollisionGuard.look = CollisionGuard.contact = lambda *_: None
"""
# A torso that stands still; its controller takes trajectories of the arm alone.
WITHOUT_TORSO = {'base_link': 'torso', 'controller_joints': str([
    ' '.join(joint for joint in TREE.joint_names if side in joint) for side in SIDES])}
PARTIAL = {'left_controller': {'allow_partial_joints_goal': True}}


def lead(probe, seconds, ways):
    """Stream to hands, from where they are along ways (3,), m, there and back."""
    tips = dict(zip(SIDES, TREE.fk(probe.positions()).values()))
    topics = {side: probe.create_publisher(PoseStamped, f'/ik_arms/{side}/goal_stream', 1)
              for side in ways}
    probe.wait(lambda: all(each.get_subscription_count() for each in topics.values()))
    begun, sent = monotonic(), 0
    while (t := monotonic() - begun) < seconds:
        for side, way in ways.items():
            T = tips[side]
            share = 0.5 * (1.0 - np.cos(2.0 * np.pi * t / 4.0))
            message = PoseStamped(pose=pose(T[:3, 3] + share * np.array(way), T[:3, :3]))
            message.header.frame_id = 'base_link'
            message.header.stamp = probe.get_clock().now().to_msg()
            topics[side].publish(message)
        sent += 1
        again = begun + sent / 50.0
        while monotonic() < again:
            probe.spin_once(max(0.0, again - monotonic()))


def rest_at(probe, q):
    """Bring both arms to a posture in step, and forget what was recorded."""
    stamp = probe.send_posture(q)
    probe.wait(lambda: any(answer['state'] in FINAL for answer in probe.answers(stamp)), 60.0)
    begins_anew(probe)


def test_what_is_proved_keeps_hands_apart_that_do_not_see_each_other(tmp_path):
    """Led to where the other one is."""
    with running(tmp_path, WITHOUT_TORSO, script=BLIND, **PARTIAL) as probe:
        rest_at(probe, APART)
        left, right = (T[:3, 3] for T in TREE.fk(APART).values())
        lead(probe, 6.0, {'left': right - left, 'right': left - right})
        moved = np.ptp([message.position for _, message in probe.states
                        if 'left_elbow' in message.name], axis=0)
        assert moved.max() > 0.1
        assert_apart(probe, model().between(list(ARM_JOINTS.values())))


def test_a_torso_that_carries_the_other_hand_stays(tmp_path):
    """The left arm has seven joints with it; while the right hand has a stream it uses six."""
    with running(tmp_path) as probe:
        rest_at(probe, APART)
        lead(probe, 3.0, {'right': (0.0, 0.0, 0.0), 'left': (0.1, 0.1, 0.1)})
        names, torso = set(), []
        for _, message in probe.states:
            names |= {*message.name}
            if 'torso_joint' in message.name:
                torso.append([message.position[message.name.index(name)]
                              for name in ('torso_joint', 'left_elbow')])
        moved = np.ptp(torso, axis=0)
        assert moved[0] < 1e-6 and moved[1] > 0.02, moved
