# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Named poses: of an SRDF and a file, as goals, and saved; in real processes."""

import re

from diagnostic_msgs.msg import DiagnosticArray
from documents import program_of
from harness import LATCHED, latest, NAMES, QUICK, ran, READY, tool
import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from sensor_msgs.msg import JointState
import yaml

from ik_node.client import Arm, ClientError, GoalNotReachedError

ASIDE = [0.4, *READY[1:]]
DOWN = [-0.3, 0.1, 0.2, 0.0, 0.7, 0.1]


def group_state(name, q, names=NAMES):
    """Return a group state of an SRDF."""
    joints = ''.join(f'<joint name="{joint}" value="{value}"/>' for joint, value in zip(names, q))
    return f'<group_state name="{name}" group="arm">{joints}</group_state>'


SRDF = ('<robot name="six_axis_arm">' + group_state('aside', ASIDE) + group_state('both', READY)
        + group_state('short', READY[:5]) + group_state('open', [0.04], ['finger'])
        + '</robot>')
FILE = {'both': dict(zip(NAMES, DOWN)), 'far': dict(zip(NAMES, [9.0, *READY[1:]])),
        'mixed': {'finger': 0.02, **dict(zip(reversed(NAMES), reversed(ASIDE)))}}


class Poses:
    """Sees the list of a node, sends goals by name, and saves."""

    def __init__(self, probe):
        self.probe = probe
        self.lists = []
        probe.create_subscription(DiagnosticArray, '/ik_node/named_poses', self.lists.append,
                                  LATCHED)
        self._saver = probe.create_client(SetParametersAtomically, '/ik_node/save_named')
        probe.wait(lambda: self.lists, what='the list')

    @property
    def listed(self):
        """Return the positions of each pose in the latest list."""
        return {status.name: [float({pair.key: pair.value for pair in status.values}[joint])
                              for joint in NAMES] for status in self.lists[-1].status}

    def go(self, *names, **fields):
        """Send a goal; return its final answer."""
        goal = JointState(name=list(names), **fields)
        answer = self.probe.final(self.probe.send_goal('named', goal, ''))
        assert answer['kind'] == 'named'
        return answer

    def reach(self, name, q):
        """Reach a pose, and be there."""
        answer = self.go(name)
        assert answer['state'] == 'reached' and answer['named_pose'] == name, answer
        assert np.abs(latest(self.probe) - q).max() < 1e-5

    def save(self, *names, value=None):
        """Ask to save; return whether it was done, and the sentence."""
        request = SetParametersAtomically.Request(parameters=[
            Parameter(name=name, value=value or ParameterValue()) for name in names])
        result = self.probe.call(self._saver, request).result
        return result.successful, result.reason


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Return the SRDF and the file of named poses, at the start."""
    folder = tmp_path_factory.mktemp('named')
    (folder / 'arm.srdf').write_text(SRDF)
    (folder / 'poses.yaml').write_text(yaml.safe_dump({'named_poses': FILE}))
    return folder / 'arm.srdf', folder / 'poses.yaml'


@pytest.fixture(scope='module')
def limits(files):
    """Give the node of the module both files."""
    return {**QUICK, 'collision.srdf_file': files[0], 'named_poses_file': files[1]}


@pytest.fixture(scope='module')
def shared_poses(shared_system):
    """Return the named poses of the shared system."""
    return Poses(shared_system)


@pytest.fixture
def poses(shared_poses):
    """Return the named poses, with the arm at READY."""
    answer = shared_poses.probe.final(shared_poses.probe.send_joints(READY))
    assert answer['state'] == 'reached'
    return shared_poses


def test_of_the_srdf_and_of_the_file(poses):
    """Both are listed and reached; the file wins, and each refusal is one sentence of the log."""
    assert poses.listed == {'aside': ASIDE, 'both': DOWN, 'mixed': ASIDE}
    said = poses.probe.node.output
    assert "'both' (" in said and 'takes the place of that of the same name (SRDF, line 1)' in said
    assert "'short' (SRDF, line 1) is refused: it lacks 'joint_6'" in said
    assert "'far' (" in said and "'joint_1' is 9, outside its limits" in said
    assert "'open'" not in said  # it is none of this arm
    for name, q in (('aside', ASIDE), ('both', DOWN), ('mixed', ASIDE)):
        poses.reach(name, q)
    assert poses.go('mixed')['reason'] == 'ALREADY_THERE'


@pytest.mark.parametrize(('names', 'fields', 'reason', 'words'), [
    (['nowhere'], {}, 'NAME_UNKNOWN', "no named pose 'nowhere'; there are 'aside', 'both', 'm"),
    (['far'], {}, 'NAME_UNKNOWN', "'far' .* outside its limits"),
    (['open'], {}, 'NAME_UNKNOWN', 'no joint of this arm'),
    ([], {}, 'GOAL_JOINTS', 'give the name of one pose'),
    (['aside', 'both'], {}, 'GOAL_JOINTS', '2 names'),
    (['aside'], {'position': [0.1]}, 'GOAL_JOINTS', '1 positions')])
@pytest.mark.fault('goals', 'a goal by a name that is unknown, refused or missing',
                   'rejected, with the known names or why it is refused')
def test_goals_that_are_rejected(shared_poses, names, fields, reason, words):
    """One final answer, and nothing is sent."""
    sent = len(shared_poses.probe.trajectories)
    answer = shared_poses.go(*names, **fields)
    assert (answer['state'], answer['reason']) == ('rejected', reason), answer
    assert re.search(words, answer['message']), answer
    assert len(shared_poses.probe.trajectories) == sent


def test_saved_and_used_at_once(poses, files):
    """The file has it, with what was there before; then it is a goal."""
    before = yaml.safe_load(files[1].read_text())['named_poses']
    assert poses.probe.final(poses.probe.send_joints(DOWN))['state'] == 'reached'
    done, said = poses.save('bench 1')
    assert done and "'bench 1' is saved in" in said
    after = yaml.safe_load(files[1].read_text())['named_poses']
    assert np.abs(np.array([after['bench 1'][joint] for joint in NAMES]) - DOWN).max() < 1e-5
    assert before.items() <= after.items() and len(after) == len(before) + 1
    poses.probe.wait(lambda: 'bench 1' in poses.listed, what='the new list')
    poses.reach('aside', ASIDE)
    poses.reach('bench 1', DOWN)
    poses.reach('aside', ASIDE)
    assert poses.save('bench 1')[0]  # again, elsewhere
    poses.probe.wait(lambda: abs(poses.listed['bench 1'][0] - ASIDE[0]) < 1e-5, what='the list')


@pytest.mark.parametrize(('names', 'value', 'words'), [
    ([], None, 'give one parameter'), (['a', 'b'], None, 'give one parameter'),
    (['a'], ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=1.0),
     'without a value'),
    ([''], None, '1 to 80 printable'), (['a\nb'], None, 'printable'),
    (['x' * 81], None, '1 to 80')])
def test_names_that_are_not_saved(shared_poses, files, names, value, words):
    """The file stays as it is."""
    before = files[1].read_bytes()
    done, said = shared_poses.save(*names, value=value)
    assert not done and words in said and files[1].read_bytes() == before


@pytest.mark.fault('parameters', 'a file of named poses that was broken since',
                   'nothing is saved over it, and the known poses stay')
def test_a_file_that_was_broken_since(poses, files):
    """It is said, and the file is not touched; an edit by hand counts at the next save."""
    good = files[1].read_text()
    try:
        files[1].write_text('named_poses: [')
        done, said = poses.save('other')
        assert not done and 'is not plain YAML' in said
        assert files[1].read_text() == 'named_poses: ['
        poses.reach('both', DOWN)
        edited = yaml.safe_load(good)
        edited['named_poses']['by hand'] = dict(zip(NAMES, ASIDE))
        files[1].write_text(yaml.safe_dump(edited))
        assert poses.save('other')[0]
        poses.reach('by hand', ASIDE)
    finally:
        files[1].write_text(good)


def test_by_the_client(poses):
    """Go, list and save; a name that is unknown, and a save that is refused, raise."""
    with Arm(timeout=60.0) as arm:
        goal = arm.named('both')
        poses.probe.wait(lambda: goal.done, 60.0, 'the end of the goal')
        assert goal.wait().reached and np.abs(latest(poses.probe) - DOWN).max() < 1e-5
        assert [arm.named_poses()['both'][joint] for joint in NAMES] == DOWN
        assert "'by client' is saved" in arm.save_named('by client').wait(20.0)
        saved = arm.named_poses()['by client']
        assert np.abs([saved[joint] - q for joint, q in zip(NAMES, DOWN)]).max() < 1e-5
        with pytest.raises(GoalNotReachedError, match="no named pose 'nowhere'; there are"):
            arm.named('nowhere').wait(20.0)
        with pytest.raises(ClientError, match='1 to 80 printable'):
            arm.save_named('').wait(20.0)


def test_the_document(poses, tmp_path):
    """Its program saves a pose, leaves it, comes back and lists it."""
    printed, _ = ran(program_of('docs/how_to/named_poses.md'), tmp_path)
    assert "'bench' is saved" in printed and "\nbench {'joint_1': " in printed
    assert np.abs(latest(poses.probe) - READY).max() < 1e-5


def test_by_the_command(poses):
    """send_goal --named goes there."""
    command = tool('send_goal', '--named', 'both')
    poses.probe.wait(lambda: command.poll() is not None, 60.0, 'the end of send_goal')
    assert command.returncode == 0 and np.abs(latest(poses.probe) - DOWN).max() < 1e-5


@pytest.mark.fault('joint states', 'a pose is to be saved while they are old',
                   'it is refused, and the file stays as it is')
def test_old_joint_states_are_not_saved(poses, files):
    """Without joint states nothing is written."""
    before = files[1].read_bytes()
    assert poses.probe.set_parameters('/sim_controller', {'measuring.dropped': 1.0}).successful
    poses.probe.spin_for(0.7)  # longer than state.timeout
    done, said = poses.save('blind')
    assert poses.probe.set_parameters('/sim_controller', {'measuring.dropped': 0.0}).successful
    assert not done and ' old' in said, said
    assert files[1].read_bytes() == before
