# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing is sent that would collide; judged by Pinocchio and coal."""

from contextlib import contextmanager
import os
from time import monotonic

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from geometry_oracle import bodies_of, Oracle
from harness import (
    ARM,
    DOWN,
    FINAL,
    latest,
    pose,
    Process,
    process,
    QUICK,
    READY,
    run_system,
    stamped,
    tip,
)
from motion_checker import path_of, states_at
from nightly import samples, usual_first
import numpy as np
import pinocchio as pin
import pytest
import robots
from std_msgs.msg import String
from std_srvs.srv import Trigger

from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene_file import read_scene
from ik_node.ros.messages.status_messages import values_of
from ik_node.ros.middleware.qos import LATCHED_QOS

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
CHECKED = {'collision.check': True, 'collision.ground': True, **QUICK}
SCENE = """
objects:
  post: {cylinder: [0.05, 1.2], xyz: [0.45, 0.0, 0.6]}
"""
SAMPLES = 60


def objects_of(scene):
    """Return the objects of a scene file, if there is one, and the ground."""
    ground = Body('ground', '', (ConvexPart('plane', (), np.eye(4), np.zeros((0, 3))),))
    bodies = () if scene is None else read_scene(scene, CHAIN.base_link, TREE.links).bodies
    return (*bodies, ground)


def assert_free(trajectories, objects, margin):
    """Check each trajectory between its points by Pinocchio and coal."""
    model = CollisionModel(CHAIN, TREE, bodies_of(NAME), objects)
    oracle = Oracle(NAME, model, bodies_of(NAME), objects)
    for message in trajectories:
        path = path_of(message)
        for q, _, _ in states_at(path, np.linspace(path.times[0], path.times[-1], SAMPLES)):
            assert oracle.distances(q).min() > margin - 1e-5


@pytest.mark.fault('goals', 'goals that only postures in collision reach, or that the direct '
                   'motion cannot reach without one', 'refused with the pair and the distance; '
                   'other postures and other goals are reached')
def test_no_motion_collides(tmp_path, probe):
    """A post and the ground: each goal is reached without contact, or refused."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(SCENE)
    random = np.random.default_rng(3)
    with run_system(tmp_path, probe, {**CHECKED, 'collision.scene_file': scene,
                                      'motion.detour_time': 0.5},
                    {'initial_positions': [1.2, 0.3, -0.4, 0.0, 1.0, 0.0]}):
        reasons = []
        while len(reasons) < samples(usual=6, nightly=25):
            q = random.uniform(CHAIN.lower, CHAIN.upper)
            T = robots.tip_pose(NAME, q)
            if T[2, 3] < -0.1:
                continue
            answer = probe.final(probe.send(T[:3, 3], pin.Quaternion(T[:3, :3]).coeffs()))
            reasons.append(answer['reason'])
            if answer['reason'] == 'COLLISION':
                assert ' mm' in answer['message'], answer
        assert set(reasons) <= {'REACHED', 'COLLISION'}, reasons
        assert reasons.count('REACHED') > 3
        for xyz, what in (((0.45, 0.0, 0.3), 'post'), ((0.2, 0.5, -0.05), 'ground')):
            answer = probe.final(probe.send(xyz, DOWN))
            assert answer['reason'] == 'COLLISION' and f"'{what}'" in answer['message'], answer
        assert_free(probe.trajectories, objects_of(scene), 0.005)


LEFT, RIGHT = ([side, 0.6, 0.4, 0.0, 0.6, 0.0] for side in (0.9, -0.9))
# Before the arm, behind it and above it: there is no way from one side to the other.
WALLS = """
objects:
  front: {box: [1.5, 0.04, 3.0], xyz: [1.0, 0.0, 1.0]}
  back: {box: [1.5, 0.04, 3.0], xyz: [-1.0, 0.0, 1.0]}
  top: {box: [1.0, 0.04, 1.0], xyz: [0.0, 0.0, 1.25]}
"""


def test_a_way_round(tmp_path, probe):
    """From rest and in motion, for joints and for a pose; with no time for it: refused."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(SCENE)
    with run_system(tmp_path, probe, {**CHECKED, 'collision.scene_file': scene},
                    {'initial_positions': LEFT}):
        there = probe.final(probe.send_joints(RIGHT))
        assert there['state'] == 'reached' and there['detour'] == 'true'
        on_the_way = probe.send_joints([1.4, *RIGHT[1:]])
        probe.wait(lambda: any(probe.states[-1][1].velocity))
        T = tip(LEFT)
        back = probe.send(T.translation, pin.Quaternion(T.rotation).coeffs())
        assert probe.final(back)['state'] == 'reached'
        assert probe.final(on_the_way)['state'] in ('superseded', 'reached')
        free = probe.final(probe.send_joints([1.1, *LEFT[1:]]))
        assert free['state'] == 'reached' and 'detour' not in free
        assert probe.set_parameters('/ik_node', {'motion.detour_time': 0.0}).successful
        refused = probe.final(probe.send_joints(RIGHT))
        assert refused['reason'] == 'COLLISION'
        assert "'post' would" in refused['message'] and 'motion.detour_time' in refused['message']
        assert_free(probe.trajectories, objects_of(scene), 0.005)


FASTEST_COLLIDES = """
from ik_node.motion.change import path_pace
path_pace.certify = lambda *_: 'a contact'
"""


def test_a_stop_stays_on_the_path(tmp_path, probe):
    """A node that is told that its fastest ramp collides sends one on the path of the motion."""
    probe.watch_motion()
    node = Process('ik_node', tmp_path / 'node.log', {'urdf_file': ARM, 'collision.check': True},
                   script=FASTEST_COLLIDES)
    try:
        with process('sim_controller', tmp_path, {'urdf_file': ARM, 'initial_positions': READY}):
            probe.wait_for_node()
            probe.wait_until_ready()
            stamp = probe.send_joints([1.2, 0.1, -0.6, 0.3, 1.2, 0.5])
            probe.wait(lambda: probe.states and max(probe.states[-1][1].velocity) > 0.4)
            assert probe.call(probe.stop).success
            assert probe.final(stamp)['reason'] == 'STOPPED'
            motion, ramp = map(path_of, probe.trajectories)
            on_path, found = ([q for q, _, _ in states_at(path, np.linspace(
                path.times[0], path.times[-1], 2000))] for path in (motion, ramp))
            off = [np.abs(on_path - q).max(axis=1).min() for q in found[::20]]
            assert max(off) < 2e-3
    finally:
        node.kill()


@pytest.fixture
def planning(tmp_path, probe):
    """Run a system among objects; give functions that preview a posture, and ask for a plan."""
    @contextmanager
    def planning(objects):
        scene = tmp_path / 'scene.yaml'
        scene.write_text(objects)
        with run_system(tmp_path, probe, {**CHECKED, 'collision.scene_file': scene,
                                          'motion.detour_time': 60.0},
                        {'initial_positions': LEFT}):
            probe.wait(lambda: 'all kernels are compiled' in probe.node.output, 60.0)
            answers = []
            probe.create_subscription(  # before the publisher, which waits until it is heard
                DiagnosticStatus, '/ik_node/preview',
                lambda message: answers.append({**values_of(message), 'said': message.message}),
                10)
            previews = probe.publisher(PoseStamped, 'preview_pose')
            client = probe.create_client(Trigger, '/ik_node/plan')

            def preview(q):
                T, known = tip(q), len(answers)
                message = PoseStamped(pose=pose(T.translation, T.rotation))
                stamped(probe, message)
                previews.publish(message)
                probe.wait(lambda: len(answers) > known, what='the preview')

            def plan():
                """Ask for a plan, again if one is found before the answer, and then answered."""
                for _ in range(20):
                    response = probe.call(client)
                    assert response.success
                    if 'a detour is planned' in response.message:
                        return
                    assert response.message.endswith('m of the tip, around obstacles')
                raise AssertionError('each plan is found at once')

            yield preview, plan, answers
            assert not probe.trajectories

    return planning


def test_a_way_round_is_planned(probe, planning):
    """~/preview tells of it when it is found, and nothing moves."""
    with planning(SCENE) as (preview, plan, answers):
        preview(RIGHT)
        plan()
        probe.wait(lambda: len(answers) == 2, 60.0, 'the plan')
        first, found = answers
        assert found['stamp'] == first['stamp'] and found['colour'] != 'red'
        assert found['said'].endswith('m of the tip, around obstacles')
        T = tip([float(value) for value in found['q'].split()])
        assert np.abs(T.translation - tip(RIGHT).translation).max() < 1e-4


@pytest.mark.fault('goals', 'another preview, or another plan, while a detour is planned',
                   'the older search ends; only the newest is told of')
def test_a_plan_that_is_superseded(probe, planning):
    """It is not told of any more, and takes no processor time."""
    with planning(WALLS) as (preview, plan, answers):
        preview(RIGHT)
        plan()
        probe.spin_for(0.5)
        plan()
        probe.spin_for(0.5)
        known = len(threads(probe.node.pid))
        preview(LEFT)
        probe.wait(lambda: len(threads(probe.node.pid)) < known, what='the end of the search')
        probe.spin_for(0.5)
        assert len(answers) == 2


@pytest.mark.nightly
def test_a_plan_to_which_there_is_no_way(probe, planning):
    """The search ends after motion.detour_time, and says so on ~/preview."""
    with planning(WALLS) as (preview, plan, answers):
        assert probe.set_parameters('/ik_node', {'motion.detour_time': 0.5}).successful
        preview(RIGHT)
        plan()
        probe.wait(lambda: len(answers) == 2, what='the end of the search')
        assert answers[1]['colour'] == 'red' and answers[1]['reason'] == 'COLLISION'
        assert 'no detour was found' in answers[1]['said']


def threads(pid):
    """Return the threads of a process."""
    return os.listdir(f'/proc/{pid}/task')


@pytest.mark.fault('goals', 'a goal to which there is no way', 'the search ends after '
                   'motion.detour_time, or at ~/stop, with one answer; the node goes on meanwhile')
@pytest.mark.nightly
def test_a_search_in_vain(tmp_path, probe):
    """The poses of the tip come at their rate while the node searches."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(WALLS)
    arrivals = []
    probe.create_subscription(PoseStamped, '/ik_node/tip_pose',
                              lambda _: arrivals.append(monotonic()), 10)
    with run_system(tmp_path, probe, {**CHECKED, 'collision.scene_file': scene,
                                      'motion.detour_time': 60.0},
                    {'initial_positions': LEFT}):
        probe.wait(lambda: arrivals)
        stamp = probe.send_joints(RIGHT)
        arrivals.clear()
        probe.spin_for(2.0)
        assert len(arrivals) > 20 and np.diff(arrivals).max() < 0.3
        assert not [answer for answer in probe.answers(stamp) if answer['state'] in FINAL]
        begin = monotonic()
        assert probe.call(probe.stop).success
        assert probe.final(stamp)['reason'] == 'STOPPED' and monotonic() - begin < 2.0
        assert probe.set_parameters('/ik_node', {'motion.detour_time': 0.5}).successful
        answer = probe.final(probe.send_joints(RIGHT))
        assert answer['reason'] == 'COLLISION'
        assert 'no detour was found' in answer['message'] and "'front'" in answer['message']
        assert not probe.trajectories


@pytest.mark.fault('goals', 'the target of a stream goes into the ground, or into an object',
                   'the arm slides along it or stops before it, the log says what it comes no '
                   'nearer to, and it goes on when the target comes back')
@pytest.mark.nightly
def test_a_stream_into_the_ground(tmp_path, probe):
    """All that is commanded is free to its end; the tip comes near, and follows again."""
    with run_system(tmp_path, probe, CHECKED, {'initial_positions': READY}) as system:
        stream, here = probe.publisher(PoseStamped, 'goal_stream'), tip(READY)
        begin, heights = monotonic(), []
        depth = here.translation[2] + 0.2

        def back() -> bool:
            return abs(heights[-1] - here.translation[2]) < 0.02

        while (t := monotonic() - begin) < 7.0 or not back() and t < 30.0:
            down = min(0.25 * t, depth) if t < 5.0 else max(depth - 0.8 * (t - 5.0), 0.0)
            message = PoseStamped(pose=pose(here.translation - [0.0, 0.0, down]))
            stamped(probe, message)
            stream.publish(message)
            probe.spin_for(0.01)
            heights.append(tip(probe.states[-1][1].position).translation[2])
        assert 'come no nearer' in system.node.output and "'ground'" in system.node.output
        assert 0.0 < min(heights) < 0.1
        assert back()
        probe.wait(lambda: any(answer['reason'] == 'STREAM_ENDED' for answer in probe.statuses))
        assert len(probe.trajectories) > 100
        assert_free(probe.trajectories[::25], objects_of(None), 0.005)


@pytest.mark.nightly
def test_margin_and_ground_change_live(tmp_path, probe):
    """What was free is refused with a larger margin, and without the ground all is taken."""
    with run_system(tmp_path, probe, CHECKED):
        near = (0.45, 0.0, 0.05)
        assert probe.final(probe.send(near, DOWN))['state'] == 'reached'
        assert probe.final(probe.send_joints(READY))['state'] == 'reached'
        assert probe.set_parameters('/ik_node', {'collision.margin': 0.2}).successful
        assert probe.final(probe.send(near, DOWN))['reason'] == 'COLLISION'
        assert probe.set_parameters('/ik_node', {'collision.ground_height': -0.5}).successful
        assert probe.final(probe.send(near, DOWN))['reason'] in ('REACHED', 'COLLISION')
        assert probe.set_parameters('/ik_node', {
            'collision.ground': False, 'collision.margin': 0.0}).successful
        assert probe.final(probe.send(near, DOWN))['state'] == 'reached'


@pytest.mark.nightly
def test_lines_and_joint_goals_are_checked(tmp_path, probe):
    """A straight line into the ground, and joint positions in it, are refused."""
    with run_system(tmp_path, probe, {**CHECKED, 'motion.straight': True}):
        here = tip(READY)
        below = [*here.translation[:2], -0.02]
        answer = probe.final(probe.send(below, pin.Quaternion(here.rotation).coeffs()))
        assert answer['reason'] == 'COLLISION' and '% of its length' in answer['message']
        assert 0.5 < float(answer['path_fraction']) < 0.99
        assert probe.set_parameters('/ik_node', {'path.partial': True}).successful
        stamp = probe.send(below, pin.Quaternion(here.rotation).coeffs())
        answer = probe.final(stamp)
        assert (answer['state'], answer['reason']) == ('failed', 'COLLISION'), answer
        assert 'as far as it could' in answer['message']
        assert 0.0 < tip(latest(probe)).translation[2] < 0.1
        assert_free(probe.trajectories, objects_of(None), 0.005)
        stretched = [0.0, 1.9, 0.0, 0.0, 0.0, 0.0]
        answer = probe.final(probe.send_joints(stretched))
        assert answer['reason'] == 'COLLISION', answer


@pytest.mark.fault('start, end and middleware', 'a scene file that is missing or wrong',
                   'the node does not start, and says which key is wrong')
@pytest.mark.parametrize('text, words', usual_first(1, [
    ('objects: {ball: {sphere: -1}}', 'sphere'), (None, 'No such file')]))
def test_a_scene_file_that_cannot_be_used(tmp_path, probe, text, words):
    """One sentence, and exit code 1."""
    scene = tmp_path / 'scene.yaml'
    if text is not None:
        scene.write_text(text)
    with process('ik_node', tmp_path, {'urdf_file': ARM, 'collision.check': True,
                                       'collision.scene_file': scene}) as node:
        probe.wait(lambda: not node.running(), 60.0)
        assert words in node.output


@pytest.mark.fault('robot description', 'a link whose mesh is missing',
                   'it is named on the log as not checked; with collision.strict the robot is '
                   'refused')
@pytest.mark.parametrize('strict', usual_first(1, [True, False]))
def test_a_mesh_that_is_missing(tmp_path, probe, strict):
    """Never taken for free without a word."""
    urdf = tmp_path / 'arm.urdf'
    mesh = '<collision><geometry><mesh filename="package://nowhere/hand.stl"/></geometry></collision>'
    text = ARM.read_text()
    urdf.write_text(text.replace('<link name="link_6">', f'<link name="link_6">{mesh}', 1))
    assert mesh in urdf.read_text()
    with process('ik_node', tmp_path, {'urdf_file': urdf, 'collision.strict': strict}) as node:
        probe.wait(lambda: "'nowhere'" in node.output, 60.0)
        if strict:
            probe.wait(lambda: not node.running(), 60.0)
            assert 'collision.strict refuses that' in node.output
        else:
            probe.wait(lambda: 'ready for goals' in node.output, 60.0)


def posture_with_one_pair():
    """Return a posture in which only two links are in contact, and an SRDF that disables them."""
    model = CollisionModel(CHAIN, TREE, bodies_of(NAME))
    for q in robots.random_postures(CHAIN, 2000, 3):
        names = {tuple(sorted(model.names_of(k)))
                 for k in np.flatnonzero(model.distances(q, 0.005) <= 0.005)}
        if len(names) == 1:
            one, other = names.pop()
            pair = f'<disable_collisions link1="{one}" link2="{other}"/>'
            return q, f'<robot name="arm">{pair}</robot>'


def test_pairs_that_an_srdf_leaves_out(tmp_path, probe):
    """A posture in which two such links are in contact is reached; without the SRDF it is not."""
    (q, text), srdf = posture_with_one_pair(), tmp_path / 'arm.srdf'
    srdf.write_text(text)
    for given, reason in (({'collision.srdf_file': srdf}, 'REACHED'), ({}, 'COLLISION')):
        folder = tmp_path / reason
        folder.mkdir()
        with run_system(folder, probe, {**QUICK, **given}):
            answer = probe.final(probe.send_joints(q))
            assert answer['reason'] == reason, answer


@pytest.mark.nightly
def test_pairs_that_are_left_out_by_topic(tmp_path, probe):
    """From then on, until another text; what is no SRDF, and a repetition, change nothing."""
    q, text = posture_with_one_pair()
    semantics = probe.create_publisher(String, 'robot_description_semantic', LATCHED_QOS)
    semantics.publish(String(data=text))  # before there is a node
    told = '1 pairs of links are not checked'
    with run_system(tmp_path, probe, QUICK):
        answers = [probe.final(probe.send_joints(posture))['reason'] for posture in (q, READY)]
        assert answers == ['REACHED', 'REACHED']
        said = probe.node.output
        for wrong, words in ((ARM.read_text(), 'this is a URDF, not an SRDF'), ('', 'empty'),
                             ('<robot', 'unclosed token'), ('arm.srdf', 'syntax error')):
            semantics.publish(String(data=wrong))
            probe.wait(lambda words=words: words in probe.node.output[len(said):], what=words)
        assert probe.final(probe.send_joints(q))['reason'] == 'REACHED'
        semantics.publish(String(data='<robot name="arm"/>'))
        probe.wait(lambda: ': 0 pairs of links' in probe.node.output, what='the other text')
        assert probe.final(probe.send_joints(READY))['reason'] == 'REACHED'
        assert probe.final(probe.send_joints(q))['reason'] == 'COLLISION'
        assert probe.node.output.count(told) == 1
