# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""One table of goal kinds, from which topics, documents and the SROS2 policy follow."""

from types import SimpleNamespace

from harness import ROOT
import pytest

from ik_node.node.intake.goal_starter import GoalStarter
from ik_node.ros.messages.conversion import message_class
from ik_node.ros.messages.goal_kinds import (
    GOAL_KINDS,
    goal_options,
    KEPT_KIND,
    LINE_OPTION,
    Orientation,
)
from ik_node.tools.arguments.send_goal import parse, VALUE_ARGUMENTS
from scripts.reference import documents, POLICY_FILE, with_goal_topics, with_goals

STREAMED = {kind.name for kind in GOAL_KINDS if kind.streamed}


def test_files_follow_from_the_table(monkeypatch):
    """Each kind is in the policy and in the table of topics, with its type."""
    monkeypatch.chdir(ROOT)
    policy = POLICY_FILE.read_text()
    assert policy == with_goal_topics(policy), 'run: python scripts/reference.py'
    assert documents(), 'no document has the table'
    for path in documents():
        text = path.read_text()
        assert text == with_goals(text), 'run: python scripts/reference.py'
        for kind in GOAL_KINDS:
            assert f'| `~/goal_{kind.name}` in | ' in text and kind.description in text
    for kind in GOAL_KINDS:
        # Of the ik_node, of the viewer, of the handle in RViz; of ik_handheld, which streams to
        # one arm or to two.
        assert policy.count(f'/goal_{kind.name}<') == (
            3 if kind.in_ui else 1) + 3 * kind.streamed, kind.name
        assert policy.count(f'/preview_{kind.name}<') == (3 if kind.preview else 0), kind.name


def test_a_topic_that_is_missing_is_written(monkeypatch):
    """A kind that is new, or one that is gone."""
    monkeypatch.chdir(ROOT)
    policy = POLICY_FILE.read_text()
    without = policy.replace('            <topic>~/goal_joints</topic>\n', '')
    more = policy.replace('            <topic>ik_node/goal_pose</topic>\n',
                          '            <topic>ik_node/goal_pose</topic>\n'
                          '            <topic>ik_node/goal_of_old</topic>\n')
    assert without != policy != more
    assert with_goal_topics(without) == with_goal_topics(more) == policy


def test_every_kind_is_begun():
    """By what the arm does for it; a stream goes its own way, a kept one that of its kind."""
    begin = GoalStarter(None, None, None, None, SimpleNamespace(begin=None)).begin
    assert {*begin} == {kind.name for kind in GOAL_KINDS} - STREAMED - {KEPT_KIND}


def arguments_of(option, folder, frees_axes=False):
    """Return a command line of send_goal with an option of a goal, and with --free."""
    poses, taught, chunk = (folder / name for name in ('poses.csv', 'taught.yaml', 'chunk.csv'))
    poses.write_text('x,y,z,roll,pitch,yaw\n0.4,0.0,0.4,0.0,0.0,0.0\n')
    chunk.write_text('0.1,0.4,0,0.4,0,0,0,1\n0.2,0.4,0.01,0.4,0,0,0,1\n')
    taught.write_text('joint_path: {joints: [a], points: [{positions: [0.1]}]}')
    values = {'': [], 'pose': ['0.4', '0', '0.4'], 'position_tolerance': ['0.01'],
              'orientation_tolerance': ['0.01'], 'joint_positions': ['0.1'],
              'joint_path_file': [str(taught)], 'pose_file': [str(poses)],
              'chunk_file': [str(chunk)], 'name': ['ready']}
    return [*(['--xyz', '0.3', '0', '0.4'] if option.with_xyz else []),
            *(['--rpy', '0', '1.57', '0'] if option.orientation is Orientation.REQUIRED else []),
            option.flag, *values[option.value], *(['--free', 'rz'] if frees_axes else [])]


@pytest.mark.parametrize('kind', GOAL_KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_its_options(tmp_path, kind):
    """What send_goal takes by them is a goal of this kind."""
    from ik_node.tools.send_goal import make_goal
    assert bool(kind.options) is not (kind.streamed or kind.name == KEPT_KIND)
    for option in kind.options:
        options = parse(arguments_of(option, tmp_path, kind.frees_axes))
        assert options.goal_option is option
        topic, goal = make_goal(options)
        assert topic == f'goal_{kind.name}' and type(goal) is message_class(kind.message)


@pytest.mark.parametrize('arguments', [
    ('--joints', '0.1'), ('--named', 'ready'), ('--xyz', '0', '0', '0', '--position')])
def test_what_leaves_no_axes_free(arguments, capsys):
    """Only lines, arcs and paths do; to a position alone a line is the way."""
    with pytest.raises(SystemExit):
        parse([*arguments, '--free', 'rz'])
    assert '--free belongs to --line, --through and --path' in capsys.readouterr().err
    assert parse(['--xyz', '0', '0', '0', '--free', 'rz']).goal_option is LINE_OPTION


def test_values_of_options_are_known():
    """Each has its arguments for argparse, and every one that is converted is one of them."""
    from ik_node.tools.send_goal import VALUE_READERS
    assert {option.value for option in goal_options()} == {*VALUE_ARGUMENTS}
    assert {*VALUE_READERS} <= {*VALUE_ARGUMENTS}
