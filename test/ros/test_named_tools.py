# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Tools that have a name, mounted while the node runs; judged by Pinocchio and coal."""

import re

from diagnostic_msgs.msg import DiagnosticArray
from documents import blocks, program_of
from geometry_oracle import bodies_of, Oracle
from harness import ARM, LATCHED, latest, lent, process, ran, READY, same, tip
from motion_checker import path_of, states_at
import numpy as np
import pinocchio as pin
import pytest
import robots
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray
import yaml

from ik_node.client import Arm, ClientError
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.tool_file import read_tools
from ik_node.ros.messages.status_messages import values_of

NAME = 'six_axis_arm'
CHAIN, TREE = robots.chain(NAME), robots.tree(NAME)
PAGE = 'docs/how_to/tool.md'
GRIPPER = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 1.5708), np.array([0.0, 0.0, 0.12]))


def lance(**more):
    """Return a tool that goes through the ball where the arm is at READY."""
    return {'link': 'flange', 'position': [0.35, 0.0, 0.0],  # its x axis points outward
            'shapes': [{'cylinder': [0.01, 0.34], 'xyz': [0.18, 0.0, 0.0],
                        'rpy': [0.0, 1.5708, 0.0]}], 'touch': ['cup'], **more}


OTHERS = {'lance': lance(),
          'bare': {'position': [0.02, -0.03, 0.15], 'orientation': [0.3, -0.4, 0.5]},
          'laden': {'link': 'flange', 'mass': 12.0, 'center_of_mass': [0.12, 0.03, 0.0]},
          'anvil': {'mass': 70.0}, 'pike': lance(mass=70.0)}
NAMES = ['gripper', 'pen', *OTHERS]
HERE = tip(READY)
BALL, CUP = (HERE.act(np.array([0.0, 0.0, ahead])).tolist() for ahead in (0.25, 0.05))
SCENE = {'ball': {'sphere': 0.05, 'xyz': BALL},
         'cup': {'box': [0.02, 0.02, 0.02], 'xyz': CUP, 'touch': ['gripper', 'link_5', 'link_6']}}
AWAY = [0.6, *READY[1:]]
FAR = [2.1, 0.9, -0.2, 0.5, 0.4, 1.0]
# So fast that the torques are too high with 12 kg.
FAST = {'motion.acceleration_limits': '[15.0]', 'motion.jerk_limits': '[300.0]'}


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return the files of tools, with those of the page, and of the scene."""
    folder = tmp_path_factory.mktemp('tools')
    page, = (block.text for block in blocks('yaml')
             if block.document == PAGE and block.text.startswith('tools:'))
    tools = {'tools': yaml.safe_load(page)['tools'] | OTHERS}
    (folder / 'tools.yaml').write_text(yaml.safe_dump(tools, sort_keys=False))
    (folder / 'scene.yaml').write_text(yaml.safe_dump({'objects': SCENE}))
    return folder / 'tools.yaml', folder / 'scene.yaml'


@pytest.fixture(scope='module')
def limits(files):
    """Give the node of the module both files; it plans no detours."""
    return {**FAST, 'tools_file': files[0], 'collision.scene_file': files[1],
            'motion.detour_time': '0.0'}


@pytest.fixture(scope='module')
def seen(shared_system):
    """See the list of tools, and the objects that are checked."""
    lists, shown = [], []
    shared_system.create_subscription(DiagnosticArray, '/ik_node/tools', lists.append, LATCHED)
    shared_system.create_subscription(MarkerArray, '/ik_node/scene_markers', shown.append, LATCHED)
    shared_system.wait(lambda: lists and shown, what='the tools and the scene')
    return lists, shown


@pytest.fixture
def system(shared_system, seen):
    with lent(shared_system) as probe:
        yield probe


def mounted(seen):
    """Return the names of the tools whose message says so in the latest list."""
    return [status.name for status in seen[0][-1].status if status.message == 'mounted']


def frames(seen):
    """Return in which links the objects of the latest scene are shown."""
    return [marker.header.frame_id for marker in seen[1][-1].markers if marker.ns == 'objects']


def ahead(system, distance):
    """Move by a distance (m) along the axis of the tip; return the final answer."""
    return system.final(system.send((0.0, 0.0, distance), frame='tcp'))


def moved(system, distance):
    """Move by a distance (m) along the axis of the tip, and arrive there."""
    answer = ahead(system, distance)
    assert answer['state'] == 'reached', answer


def assert_free(trajectories, files, name):
    """Check trajectories by Pinocchio and coal, with the shape of a tool and the ball."""
    scene = Scene(CHAIN.base_link, TREE.links)
    scene.add_sphere('ball', 0.05, pin.SE3(np.eye(3), np.array(BALL)).homogeneous)
    objects = *scene.bodies, read_tools(str(files[0]), TREE, CHAIN)[name].body
    oracle = Oracle(NAME, CollisionModel(CHAIN, TREE, bodies_of(NAME), objects),
                    bodies_of(NAME), objects)
    assert trajectories
    for message in trajectories:
        path = path_of(message)
        for q, _, _ in states_at(path, np.linspace(path.times[0], path.times[-1], 40)):
            assert oracle.distances(q).min() > 0.005 - 1e-5


@pytest.mark.nightly
def test_centre_point_and_shape_in_one_step(system, seen, files):
    """Goals, the pose of the tip, what collides and what is shown are those of the tool."""
    assert [status.name for status in seen[0][-1].status] == NAMES
    assert not mounted(seen) and frames(seen) == ['base_link'] * 2
    # As far ahead, without a tool there is room.
    system.change('/ik_node', motion__straight=True)
    moved(system, 0.1)
    moved(system, -0.1)
    count = len(system.trajectories)
    system.change('/ik_node', tool__name='gripper')
    system.wait(lambda: mounted(seen) == ['gripper'] and frames(seen).count('tool0') == 2,
                what='the gripper')
    begin = tip(latest(system)) * GRIPPER
    system.wait(lambda: system.tip_poses and np.allclose(
        [getattr(system.tip_poses[-1].pose.position, axis) for axis in 'xyz'],
        begin.translation, atol=1e-5), what='the pose of the tool')
    answer = ahead(system, 0.1)
    assert answer['reason'] == 'COLLISION', answer
    assert "'ball'" in answer['message'] and "'gripper'" in answer['message']
    moved(system, 0.06)
    assert same(tip(latest(system)) * GRIPPER,
                begin * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.06])))
    assert_free(list(system.trajectories)[count:], files, 'gripper')
    # Another takes its place, with its own pose and without its shape.
    system.change('/ik_node', tool__name='bare')
    system.wait(lambda: mounted(seen) == ['bare'] and frames(seen) == ['base_link'] * 2,
                what='the tool without a shape')
    pose = np.array(values_of(seen[0][-1].status[3])['pose'].split(), dtype=float)
    bare = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.4, 0.5), np.array([0.02, -0.03, 0.15]))
    assert same(pin.XYZQUATToSE3(pose), bare)
    begin = tip(latest(system)) * bare
    moved(system, -0.05)
    assert same(tip(latest(system)) * bare,
                begin * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.05])))


@pytest.mark.fault('parameters', 'a tool is mounted that collides where the arm is',
                   'it is taken, with a warning; motions out of it are possible, none back')
def test_a_tool_that_collides_at_once(system):
    """The arm is where it is; the log says what the tool is near to, but not what it may touch."""
    before = len(system.node.output)
    system.change('/ik_node', tool__name='lance')
    system.wait(lambda: "the tool 'lance' touches, or is too near to, 'ball' where the arm is; "
                in system.node.output[before:], what='the warning')
    assert system.final(system.send_joints(AWAY))['state'] == 'reached'
    answer = system.final(system.send_joints(READY))
    assert answer['reason'] == 'COLLISION', answer
    assert "'ball'" in answer['message'] and "'lance'" in answer['message'], answer


@pytest.mark.fault('parameters', 'a tool that there is not, or one with an offset besides',
                   'refused, with the tools that there are, or what to set; the tool stays')
def test_invalid_tools_are_refused(system, seen):
    """Unknown names, an offset of another tool, and any change during a motion."""
    system.change('/ik_node', tool__name='gripper')
    zeros = [0.0, 0.0, 0.0]
    for values, words in (
            ({'tool.name': 'griper'}, "no tool 'griper'; there are 'gripper', 'pen', 'lance'"),
            ({'tool.position': [0.0, 0.0, 0.1]}, "the tool 'gripper' has a position"),
            ({'tool.name': 'pen', 'tool.orientation': [0.1, 0.0, 0.0]}, "the tool 'pen' has a")):
        result = system.set_parameters('/ik_node', values)
        assert not result.successful and words in result.reason, result.reason
    stamp = system.send_joints(AWAY)
    system.wait(lambda: any(answer['state'] == 'accepted' for answer in system.answers(stamp)))
    result = system.set_parameters('/ik_node', {'tool.name': 'pen'})
    assert not result.successful and 'while the arm moves or has a goal' in result.reason
    assert system.set_parameters('/ik_node', {'tool.name': 'gripper'}).successful
    assert system.final(stamp)['state'] == 'reached' and mounted(seen) == ['gripper']
    result = system.set_parameters('/ik_node', {'tool.name': '', 'tool.position': [0.0, 0.0, 0.1]})
    assert result.successful
    assert system.set_parameters('/ik_node', {'tool.position': zeros}).successful
    assert "may touch 'cup', which is no link" in system.node.output


def peak(trajectories, mass, centre):
    """Return the largest torque over its limit on trajectories, by Pinocchio, every ms."""
    model = pin.buildModelFromUrdf(str(ARM))
    tip_frame = model.frames[model.getFrameId('tool0', pin.FrameType.BODY)]
    model.appendBodyToJoint(tip_frame.parentJoint, pin.Inertia(
        mass, np.array(centre), np.zeros((3, 3))), tip_frame.placement)
    data, found = model.createData(), 0.0
    for message in trajectories:
        path = path_of(message)
        for state in states_at(path, np.arange(path.times[0], path.times[-1], 1e-3)):
            torques = np.abs(pin.rnea(model, data, *state))
            found = max(found, float((torques / model.upperEffortLimit).max()))
    return found


@pytest.mark.fault('goals', 'a motion that needs more torque than the effort limits',
                   'it is made slower; if its postures cannot even be held, it is refused with '
                   'the joint')
@pytest.mark.nightly
def test_torques_of_a_heavy_tool(system):
    """With the mass of the tool a motion, and the rest of one that was paused, are slower."""
    system.change('/ik_node', motion__velocity_scale=1.0)
    centre = 0.0, 0.03, 0.12  # in the tip link, whose z axis is the x axis of the flange
    assert system.final(system.send_joints(AWAY))['state'] == 'reached'
    count = len(system.trajectories)
    answer = system.final(system.send_joints(FAR))
    assert answer['state'] == 'reached' and 'torque_speed_share' not in answer
    assert peak(system.trajectories[count:], 12.0, centre) > 1.05
    system.change('/ik_node', tool__name='laden')
    count = len(system.trajectories)
    answer = system.final(system.send_joints(AWAY))
    assert answer['state'] == 'reached' and 0.3 < float(answer['torque_speed_share']) < 1.0
    stamp = system.send_joints(FAR)
    system.wait(lambda: any(system.states[-1][1].velocity), what='the motion')
    pause = system.create_client(SetBool, '/ik_node/pause')
    assert system.call(pause, SetBool.Request(data=True)).success
    system.wait(lambda: any(answer['reason'] == 'PAUSED' for answer in system.answers(stamp)),
                what='the pause')
    stop = len(system.trajectories)
    assert system.call(pause, SetBool.Request(data=False)).success
    assert system.final(stamp)['state'] == 'reached'
    # Not the ramp to rest, which is as fast as it can be.
    sent = [*system.trajectories[count:stop - 1], *system.trajectories[stop:]]
    assert len(sent) > 2 and peak(sent, 12.0, centre) < 1.0 + 1e-3
    # A new goal in motion; then the same by a parameter; and a load that cannot even be held.
    count = len(system.trajectories)
    system.send_joints(AWAY)
    system.wait(lambda: np.abs(system.states[-1][1].velocity).max() > 0.3, what='the motion')
    assert system.final(system.send_joints([1.8, *FAR[1:]]))['state'] == 'reached'
    assert len(system.trajectories) == count + 2
    assert peak(system.trajectories[count:], 12.0, centre) < 1.0 + 1e-3
    system.change('/ik_node', tool__name='', tool__mass=12.0, tool__center_of_mass=[*centre])
    answer = system.final(system.send_joints(AWAY))
    assert answer['state'] == 'reached' and 'torque_speed_share' in answer
    result = system.set_parameters('/ik_node', {'tool.name': 'anvil'})
    assert not result.successful and "the tool 'anvil' has a mass of its own" in result.reason
    system.change('/ik_node', tool__mass=0.0, tool__name='anvil')
    count = len(system.trajectories)
    answer = system.final(system.send_joints(FAR))
    assert (answer['state'], answer['reason']) == ('rejected', 'TOO_HEAVY'), answer
    assert "to hold the tool 'anvil' of 70 kg" in answer['message'], answer
    system.change('/ik_node', motion__straight=True)
    assert ahead(system, -0.05)['reason'] == 'TOO_HEAVY'
    # Nor is there a detour for a load that the direct motion would lead into the ball.
    system.change('/ik_node', tool__name='pike', motion__straight=False, motion__detour_time=10.0)
    answer = system.final(system.send_joints([-AWAY[0], *AWAY[1:]]))
    assert answer['reason'] == 'TOO_HEAVY' and "'ball'" in answer['message'], answer
    assert len(system.trajectories) == count


def test_by_the_client(system, seen):
    """It lists and mounts them; its own solver has the tool, too."""
    with Arm(timeout=60.0) as arm:
        assert [*arm.tools()] == NAMES
        assert np.allclose(arm.tools()['gripper'], GRIPPER.homogeneous, atol=1e-12)
        arm.set_tool(name='gripper').wait(20.0)
        goal = HERE * GRIPPER
        assert np.allclose(arm.kinematics.fk(np.array(READY)), goal.homogeneous, atol=1e-9)
        with pytest.raises(ClientError, match="no tool 'griper'"):
            arm.set_tool(name='griper').wait(20.0)
        arm.set_tool([0.0, 0.0, 0.2]).wait(20.0)
        system.wait(lambda: not mounted(seen), what='no named tool')
        assert np.allclose(arm.kinematics.fk(np.array(READY))[:3, 3],
                           HERE.act(np.array([0.0, 0.0, 0.2])), atol=1e-9)
        arm.set_tool().wait(20.0)


def test_the_document(system, tmp_path):
    """Its program mounts what its file has, moves, and takes the tools off."""
    printed, _ = ran(program_of(PAGE), tmp_path)
    for words in ('before [', 'after [', "['gripper', 'pen'", 'gripper ['):
        assert words in printed, printed


def test_files_and_names_that_stop_the_start(tmp_path, probe):
    """One sentence, and the node ends; without masses in the URDF it says so, and goes on."""
    bad = tmp_path / 'bad.yaml'
    bad.write_text('tools: {gripper: {shapes: [{boks: [1, 1, 1]}]}}')
    for parameters, words in (
            ({'tools_file': bad}, 'at tools.gripper: it has the shapes none'),
            ({'tool.name': 'gripper'}, "there is no tool 'gripper'; there is none at all")):
        with process('ik_node', tmp_path, {'urdf_file': ARM, **parameters}) as node:
            probe.wait(lambda node=node: not node.running(), 60.0)
            assert words in node.output and 'Traceback' not in node.output, node.output
    light = tmp_path / 'light.urdf'
    light.write_text(re.sub('<inertial>.*?</inertial>', '', ARM.read_text(), flags=re.DOTALL))
    with process('ik_node', tmp_path, {'urdf_file': light, 'tool.mass': 2.0}) as node:
        probe.wait(lambda: 'ready for goals' in node.output, 60.0)
        assert 'torques are not checked: the URDF has no masses of the links' in node.output
