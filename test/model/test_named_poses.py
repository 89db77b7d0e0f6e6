# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Named poses: which are usable, and the files that they are kept in."""

import os
import re
import textwrap

import numpy as np
import pytest
import robots

from ik_node.base.errors import ParameterError
from ik_node.collision.scene.srdf import read_group_states
from ik_node.model.user_files import named_poses as module
from ik_node.model.user_files.named_poses import named_poses, NamedPosesFile, PoseEntry
from ik_node.model.user_files.plain_yaml import PlainLoader

EXAMPLE = textwrap.dedent(re.search(r'yaml\n\n(.*?)\n\nA pose', module.__doc__, re.DOTALL)[1])
PANDA = robots.chain('panda')
READY = dict(zip(PANDA.joint_names, (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)))


def entries(source='file', **poses):
    """Return entries of one source."""
    return [PoseEntry(name, positions, source) for name, positions in poses.items()]


def test_a_real_srdf():
    """Of the group states of a Panda those of its arm, in the order of the chain."""
    states = read_group_states(robots.REAL / 'panda_description/srdf/panda.srdf')
    found = named_poses(entries_of(states), (), PANDA)
    assert found.poses and not found.notes
    for name, pose in found.poses.items():
        state = next(state for state in states
                     if state.name == name and PANDA.joint_names[0] in state.positions)
        assert pose.q.tolist() == [state.positions[joint] for joint in PANDA.joint_names]
    assert {*found.refused} == {state.name for state in states} - {*found.poses}
    assert all('no joint of this arm' in why for why in found.refused.values())


def entries_of(states):
    """Return group states as entries."""
    return [PoseEntry(state.name, state.positions, f'SRDF, line {state.line}') for state in states]


def test_order_and_other_joints():
    """Joints come in any order; those of a gripper are ignored."""
    turned = dict(reversed(READY.items()))
    found = named_poses((), entries(a={'finger': 'open', **turned}), PANDA)
    assert found.poses['a'].q.tolist() == [*READY.values()] and not found.notes


@pytest.mark.parametrize(('name', 'positions', 'words'), [
    ('a', {'panda_joint1': 0.0}, "lacks 'panda_joint2', 'panda_joint3'"),
    ('a', {**READY, 'panda_joint4': 0.5}, r"of 'panda_joint4' is 0.5, outside .*limits \[-3"),
    ('a', {**READY, 'panda_joint4': float('nan')}, "of 'panda_joint4' is nan.* finite number"),
    ('a', {**READY, 'panda_joint4': float('inf')}, 'is inf'),
    ('a', {**READY, 'panda_joint4': 10**400}, 'finite number'),
    ('a', {**READY, 'panda_joint4': True}, 'is True'),
    ('a', {**READY, 'panda_joint4': '0 1'}, "is '0 1'"),
    ('a', [0.0] * 7, 'must map joints'),
    ('a', {}, "lacks 'panda_joint1'"),
    (3, READY, 'the name 3 of a pose is no text; put it in quotes'),
    ('', READY, '1 to 80 printable'), (' a', READY, 'no blank'), ('a\n', READY, 'printable'),
    ('a' * 81, READY, '1 to 80')])
@pytest.mark.fault('goals', 'a named pose that the arm cannot use',
                   'it is refused in one sentence, and the others stay')
def test_invalid_named_poses_are_refused(name, positions, words):
    """One sentence says which and why; the other poses are there."""
    given = [PoseEntry(name, positions, 'poses.yaml'), *entries(other=READY)]
    found = named_poses((), given, PANDA)
    note, = found.notes
    assert re.search(words, note) and 'poses.yaml' in note and '\n' not in note
    assert [*found.poses] == ['other'] and found.refused == {str(name): note}


def test_one_name_twice():
    """The file takes the place of the SRDF, which is said; so does a refusal of it."""
    other = {**READY, 'panda_joint1': 0.5}
    srdf, file = entries('SRDF', a=READY), entries('poses.yaml', a=other)
    found = named_poses(srdf, file, PANDA)
    assert found.poses['a'].q[0] == 0.5 and found.poses['a'].source == 'poses.yaml'
    note, = found.notes
    assert "'a' (poses.yaml) takes the place of" in note and '(SRDF)' in note
    assert not named_poses(srdf, entries(a=READY), PANDA).notes  # it is the same
    found = named_poses(srdf, entries(a={'panda_joint1': 0.0}), PANDA)
    assert not found.poses and 'lacks' in found.refused['a']
    # Not so the state of a part of the arm in the SRDF.
    found = named_poses(srdf + entries('SRDF', a={'panda_joint1': 0.0}), (), PANDA)
    assert found.poses['a'].q[0] == 0.0 and not found.refused and len(found.notes) == 1
    found = named_poses(srdf, entries(a={'finger': 0.0}), PANDA)
    assert 'a' in found.poses


def test_the_example_of_the_documentation(tmp_path):
    """It is read as it stands."""
    (tmp_path / 'poses.yaml').write_text(EXAMPLE)
    found = NamedPosesFile(str(tmp_path / 'poses.yaml')).entries()
    assert [entry.name for entry in found] == ['ready', 'bench']
    assert found[1].positions == {'joint_3': 0.2, 'joint_1': -1.2, 'joint_2': 0.1}


def test_saving(tmp_path):
    """What is saved is read again to the last bit; what cannot be used stays in the file."""
    path = tmp_path / 'poses.yaml'
    file = NamedPosesFile(str(path))
    assert file.read() == {}
    q = np.random.default_rng(1).uniform(PANDA.lower, PANDA.upper)
    saved = dict(zip(PANDA.joint_names, q.tolist()))
    file.save('yes', saved)  # a word that YAML would read as true
    assert named_poses((), file.entries(), PANDA).poses['yes'].q.tolist() == q.tolist()
    path.write_text('named_poses:\n  odd: [1, 2]\n  Ä b: {finger: 0.01, panda_joint1: 0.0}\n')
    os.chmod(path, 0o640)
    file.save('Ä b', saved)
    file.save('new', saved)
    assert file.read() == {'odd': [1, 2], 'Ä b': {'finger': 0.01, **saved}, 'new': saved}
    assert path.stat().st_mode & 0o777 == 0o640 and [*tmp_path.iterdir()] == [path]
    assert 'Ä b' in path.read_text()


def test_saving_through_a_link(tmp_path):
    """The link stays, and the file that it names is written."""
    (tmp_path / 'link.yaml').symlink_to(tmp_path / 'real.yaml')
    NamedPosesFile(str(tmp_path / 'link.yaml')).save('a', READY)
    assert (tmp_path / 'link.yaml').is_symlink() and (tmp_path / 'real.yaml').is_file()


@pytest.mark.parametrize(('content', 'words'), [
    (b'[', 'is not plain YAML.*line 1'), (b'poses: {}', 'must have one key, named_poses'),
    (b'named_poses: 3', 'must map the name of each pose'),
    (b'named_poses: {a: {}, a: {}}', "'a' is given twice"),
    (b'named_poses: 0x' + 5000 * b'f', 'an integer has more than 1000 characters in line 1'),
    (b'named_poses: &a {b: *a}', 'alias'), (b'\xff\xfe\x00', 'plain YAML'),
    (b'#' * (2**20 + 1), 'more than 1 MiB')])
@pytest.mark.fault('parameters', 'a file of named poses that is none',
                   'one sentence, and saving leaves it as it is')
def test_invalid_pose_files_are_refused(tmp_path, content, words):
    """It is not read, and not overwritten."""
    path = tmp_path / 'poses.yaml'
    path.write_bytes(content)
    for call in (NamedPosesFile(str(path)).read, lambda: NamedPosesFile(str(path)).save('a', {})):
        with pytest.raises(ParameterError, match=words) as error:
            call()
        assert '\n' not in str(error.value) and 'poses.yaml' in str(error.value)
    assert path.read_bytes() == content


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    """The sentence says why, and nothing is left behind."""
    for path, words in ((tmp_path / 'none/poses.yaml', 'No such file'), (tmp_path, 'is no file')):
        with pytest.raises(ParameterError, match=words):
            NamedPosesFile(str(path)).save('a', READY)
    file = NamedPosesFile(str(tmp_path / 'poses.yaml'))
    file.save('a', READY)

    def full(_number):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(module.os, 'fsync', full)
    with pytest.raises(ParameterError, match='cannot write the named poses .*No space left'):
        file.save('b', READY)
    assert [*file.read()] == ['a'] and [*tmp_path.iterdir()] == [file.path]
    monkeypatch.setattr(module.os, 'access', lambda *_args: False)
    with pytest.raises(ParameterError, match='write-protected'):
        file.save('b', READY)
    with pytest.raises(ParameterError, match='cannot read .*null'):
        NamedPosesFile('a\0b').read()


def test_package_paths(tmp_path, monkeypatch):
    """A package of the ament index; of another it is said."""
    (tmp_path / 'share/cell').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    assert NamedPosesFile('package://cell/poses.yaml').path == tmp_path / 'share/cell/poses.yaml'
    with pytest.raises(ParameterError, match="the package 'shop' is not in AMENT_PREFIX_PATH"):
        NamedPosesFile('package://shop/poses.yaml')
    assert NamedPosesFile('file:///a/b.yaml').path.as_posix() == '/a/b.yaml'


def test_what_is_written_is_plain(tmp_path):
    """The strict loader takes what is written, and so does a reader of plain YAML."""
    import yaml
    file = NamedPosesFile(str(tmp_path / 'poses.yaml'))
    file.save('a', READY)
    data = file.path.read_bytes()
    assert yaml.safe_load(data) == yaml.load(data, PlainLoader) == {'named_poses': {'a': READY}}
