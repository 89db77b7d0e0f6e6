# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Odd arguments and files to the commands: an exit code and a sentence, never a traceback."""

from pathlib import Path

from harness import tool
import pytest

FILES = {'two.csv': b'x,y\n1,2\n', 'bytes.csv': b'\xff\xfe\x00',
         'nan.yaml': b'goals: [{xyz: [1, .nan, 2]}]',
         'loop.yaml': b'a: &a [*a]', 'junk.npz': b'PK\x03\x04junk',
         'runs.yaml': b'!!python/object/apply:os.system ["touch ran"]'}
VIEWER = 'viewer --ros-args -p port:=18081 -p'


def run(command):
    """Return the exit code of a command, and what it said; blanks in an argument are '+'."""
    name, *arguments = [word.replace('+', ' ') for word in command.split(' ')]
    for file, data in FILES.items():
        Path(file).write_bytes(data)
    running = tool(name, *arguments, errors=True)
    with running.stdout, running.stderr:
        said = running.stdout.read() + running.stderr.read()
    return running.wait(240.0), said


@pytest.mark.parametrize('command, code, words', [
    ('send_goal --path two.csv', 2, '2 columns'),
    ('send_goal --path bytes.csv', 2, 'no CSV file'),
    ('send_goal --path runs.yaml', 2, 'no list of goals'),
    ('send_goal --path nan.yaml', 2, 'finite numbers'),
    ('send_goal --joint-path runs.yaml', 2, 'is not plain YAML'),
    ('send_goal --joint-path loop.yaml', 2, 'the alias *a is not allowed'),
    ('teach play runs.yaml', 2, 'is not plain YAML'),
    ('teach play bytes.csv', 2, 'is not plain YAML'),
    ('teach play /dev/zero', 2, 'is no file'),
    ('teach play nan.yaml --speed -1', 2, '-1 is not above 0'),
    ('teach keep x --file nan.yaml', 2, 'it must have one key, joint_path'),
    ('teach record nan.yaml', 2, 'is there already'),
    ('teach record no/x.yaml', 2, 'its folder is not there'),
    ('teach record x --tolerance inf', 2, "'inf' is not a finite number"),
    ('send_goal --xyz 1 1 1 --rpy nan 0 inf', 2, "'nan' is not a finite number"),
    ('send_goal --xyz 1 1 1 --node a+b', 2, "'a b' is not a node name"),
    ('send_goal --joints a=b', 2, 'NAME=VALUE'),
    ('ik_doctor --node ~', 2, "'~' is not a node name"),
    ('ik_doctor --timeout nan', 2, '--timeout'),
    ('workspace --orientations 1000000000000', 2, 'from 1 to 100000'),
    ('workspace --pointing inf 0 0', 2, "'inf' is not a finite number"),
    ('workspace --box 0 1e308 0 1 0 1', 2, 'cells'),
    ('workspace --load junk.npz', 2, 'not a workspace'),
    ('workspace --urdf /dev/null', 2, 'empty'),
    ('compare_methods --seed -1', 2, '6 joints'),
    ('plot_trajectory --points loop.yaml', 2, ''),
    ('plot_trajectory --status runs.yaml', 2, ''),
    ('ik_node --ros-args -p controller:="a+b"', 1, 'Invalid topic name'),
    ('ik_node --ros-args -r x:=1:=2', 1, 'remap rule'),
    (f'{VIEWER} ik_node:="a+b"', 1, 'Invalid topic name'),
    (f'{VIEWER} host:="999.1.1.1"', 1, 'cannot listen on 999.1.1.1')])
def test_arguments(tmp_path, monkeypatch, command, code, words):
    """The documented exit code, and a message that names the error."""
    if command.startswith('viewer'):
        pytest.importorskip('viser', reason='viser is not installed (extra "viewer")')
    monkeypatch.chdir(tmp_path)
    ended, said = run(command)
    assert ended == code and words in said and 'Traceback' not in said, said
    assert not Path('ran').exists()
