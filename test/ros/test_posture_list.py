# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""All postures of a pose, with what the node thinks of each; judged by EAIK and by coal."""

from closed_form import apart, closed_form, every_turn
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from geometry_oracle import bodies_of, Oracle
from harness import latest, pose, Probe, QUICK, run_system, stamped, tip
import numpy as np
import pytest
import robots
from std_srvs.srv import Trigger

from ik_node.client import Arm, ClientError
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene_file import read_scene
from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.qos import LATCHED_QOS

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
SCENE = """
objects:
  post: {cylinder: [0.05, 1.2], xyz: [0.45, 0.0, 0.6]}
"""
MARGIN = 0.005
ASIDE = [-0.5, 1.0, -0.4, -0.1, 1.5, -5.7]  # behind the post, seen from START
START = [0.9, 0.3, -0.4, 0.0, 1.0, 0.0]


@pytest.fixture(scope='module')
def system(tmp_path_factory, recorded):
    """Run one system among the ground and a post."""
    folder, probe = tmp_path_factory.mktemp('system'), Probe()
    scene = folder / 'scene.yaml'
    scene.write_text(SCENE)
    with run_system(folder, probe, {
            **QUICK, 'collision.check': True, 'collision.ground': True,
            'collision.scene_file': scene}, {'initial_positions': START}):
        probe.scene = read_scene(scene, CHAIN.base_link, TREE.links).bodies
        probe.lists = []
        probe.create_subscription(DiagnosticArray, '/ik_node/postures', probe.lists.append,
                                  LATCHED_QOS)
        probe.previews = probe.publisher(PoseStamped, 'preview_pose')
        probe.list = probe.create_client(Trigger, '/ik_node/list_postures')
        yield probe
    probe.destroy_node()


def listed(system, T):
    """Preview a pose of the tip; return the postures that are listed: values and sentences."""
    message = PoseStamped(pose=pose(T.translation, T.rotation))
    stamp = stamped(system, message)
    system.previews.publish(message)

    def there():
        response = system.call(system.list)
        return response.success and system.lists and (
            values_of(system.lists[-1].status[0])['stamp'] == stamp)

    system.wait(there, what='the list')
    return [(values_of(status), status.message, status.level)
            for status in system.lists[-1].status]


def test_before_there_is_a_preview(system):
    """The answer says what to do first."""
    response = system.call(system.list)
    assert not response.success and '/ik_node/preview_pose first' in response.message


def test_every_branch_is_judged(system):
    """As many as EAIK finds; red exactly where coal says so; the chosen one is what moves."""
    ground = Body('ground', '', (ConvexPart('plane', (), np.eye(4), np.zeros((0, 3))),))
    objects = (*system.scene, ground)
    oracle = Oracle(NAME, CollisionModel(CHAIN, TREE, bodies_of(NAME), objects), bodies_of(NAME),
                    objects)
    T, here = tip(ASIDE), latest(system)
    found = listed(system, T)
    branches = []
    for q in closed_form(NAME)(T.homogeneous):
        if not any(apart(q, other) < 1e-4 for other in branches):
            branches.append(q)
    inside = [q for q in branches if len(every_turn(CHAIN, q))]
    postures = [np.array(values['q'].split(), dtype=float) for values, _, _ in found]
    assert len(postures) == len(inside) > 3
    assert all(min(apart(q, other) for other in inside) < 1e-4 for q in postures)
    free = []
    for q, (values, sentence, level) in zip(postures, found):
        least = oracle.distances(q).min()
        assert (values['colour'] == 'red') == (least < MARGIN), (q, least, sentence)
        assert (level == b'\x02') == (values['colour'] == 'red')
        assert float(values['jump']) == pytest.approx(np.abs(q - here).max(), abs=1e-3)
        assert 'elbow' in sentence and values['branch_elbow']
        if least > 0.0:
            assert float(values['clearance_m']) == pytest.approx(least, abs=1e-4)
        if values['colour'] == 'red':
            assert not values['duration_s'] and 'it collides: ' in sentence
        else:
            free.append((values, sentence))
    assert 0 < len(free) < len(found)
    chosen = [values for values, _ in free if values['chosen'] == 'true']
    assert len(chosen) == 1
    # The direct motion to it passes the post, and the sentence says so.
    blocked = next(sentence for values, sentence in free if values is chosen[0])
    assert 'not by the direct motion: ' in blocked and "'post'" in blocked
    goal = system.final(system.send_joints(np.array(chosen[0]['q'].split(), dtype=float)))
    assert goal['state'] == 'reached' and goal['detour'] == 'true'
    # From beside it the direct motion is free, and takes as long as the limits demand.
    beside = np.array(chosen[0]['q'].split(), dtype=float) + 0.05
    assert system.final(system.send_joints(beside))['state'] == 'reached'
    values, sentence, _ = next(each for each in listed(system, T) if each[0]['chosen'] == 'true')
    # Every joint moves by 0.05 rad, in four phases of the jerk limit.
    fastest = 4.0 * (0.05 / (2.0 * 200.0)) ** (1.0 / 3.0)
    assert float(values['duration_s']) == pytest.approx(fastest, abs=2e-3)
    assert f'{float(values["duration_s"]):.2f} s by the direct motion' in sentence


def test_in_a_program(system):
    """The client asks for a pose and gets its postures; none is an error with the reason."""
    with Arm(timeout=30.0) as arm:
        handle = arm.list_postures(tip(START).homogeneous)
        system.wait(lambda: handle.done, 30.0, 'the list')
        entries = handle.wait()
        assert len(entries) > 1 and sum(entry.chosen for entry in entries) == 1
        for entry in entries:
            assert np.linalg.norm(tip(entry.q).translation - tip(START).translation) < 1e-5
            assert entry.free == (entry.clearance > MARGIN) and entry.message
        first, second = (arm.list_postures(tip(START).homogeneous) for _ in range(2))
        system.wait(lambda: first.done and second.done, 30.0, 'both')
        assert second.wait() and 'newer preview' in str(first.exception)
        far = arm.list_postures([5.0, 0.0, 0.4], rpy=(0.0, 0.0, 0.0))
        system.wait(lambda: far.done, 30.0, 'the refusal')
        with pytest.raises(ClientError, match='out of reach'):
            far.wait()
