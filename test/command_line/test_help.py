# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Help and wrong usage of every program: answered before anything heavy is imported."""

from pathlib import Path
import re
import subprocess
import sys

import pytest

from ik_node.ros.parameters.tables import (
    HANDHELD_NODE,
    IK_ARMS,
    IK_NODE,
    INTERACTIVE_GOAL,
    SIM_CONTROLLER,
    VIEWER_NODE,
)
from ik_node.textbook.methods import TEXTBOOK_METHODS
from ik_node.textbook.options import Limits
from ik_node.tools import entry
from ik_node.tools.arguments.compare_methods import LIMIT_MODES, METHOD_NAMES
from ik_node.tools.compare.compare_runs import PRODUCTION_METHOD
from ik_node.tools.entry import COMMAND_PROGRAMS

ROOT = Path(__file__).parents[2]
SCRIPTS = dict(re.findall(r"'(\w+) = ik_node\.tools\.entry:(\w+)'",
                          (ROOT / 'setup.py').read_text()))
NODES = {'ik_node': IK_NODE, 'ik_arms': IK_ARMS, 'sim_controller': SIM_CONTROLLER,
         'ik_viewer': VIEWER_NODE,
         'ik_handheld': HANDHELD_NODE, 'interactive_goal': INTERACTIVE_GOAL}
OPTIONS = {'send_goal': ('--xyz', '--joints', '--joint-path'), 'ik_demo': ('--urdf', '--keep'),
           'ik_jog': ('keyboard', 'joy', 'spacenav'),
           'ik_teach': ('keep', 'record', 'play'),
           'ik_doctor': ('--node', '--json'), 'ik_replay': ('FILE', 'record.folder'),
           'compare_methods': ('--methods', '--no-pictures'),
           'plot_trajectory': ('--points', '--show'), 'ik_workspace': ('--box', '--publish')}
WITHOUT_SCRIPTS = 'param', 'echo', 'stop'  # what ros2 has on a machine with ROS
HEAVY_MODULES = ('numpy', 'numba', 'rclpy', 'yaml', 'matplotlib', 'viser', 'lxml', 'scipy',
                 'sklearn')
# What was imported, and the processor time that it took, are written last.
MEASURED = '''
import atexit, sys, time
atexit.register(lambda: print([name for name in {heavy} if name in sys.modules],
                              time.process_time(), sep='\\n', file=sys.stderr))
sys.argv[0] = '{script}'
from ik_node.tools.entry import {function}
{function}()
'''


def run(script, *arguments):
    """Run a program; return its exit code, what it said, and what it took."""
    code = MEASURED.format(heavy=HEAVY_MODULES, script=script, function=SCRIPTS[script])
    done = subprocess.run([sys.executable, '-c', code, *arguments], capture_output=True,
                          text=True, timeout=60)
    *said, heavy, seconds = done.stderr.splitlines()
    return done.returncode, done.stdout, '\n'.join(said), heavy, float(seconds)


def test_every_program_is_tested():
    """A new program gets its help tested here."""
    assert SCRIPTS.keys() == NODES.keys() | OPTIONS.keys()


@pytest.mark.parametrize('script', SCRIPTS)
@pytest.mark.parametrize('option', ['-h', '--help'])
def test_help(script, option):
    """Options or parameters, exit code 0, in less than half a second of processor time."""
    code, said, complaints, heavy, seconds = run(script, option)
    assert code == 0 and not complaints
    assert said.startswith(f'usage: {script} ') and 'xit code' in said or script in (
        'compare_methods',)
    assert heavy == '[]'
    assert seconds < 0.5
    for name in OPTIONS.get(script, ()):
        assert name in said


def test_commands_of_ik_node():
    """`ik_node demo` is the program ik_demo, and so for each program; the help lists them."""
    said = ' '.join(run('ik_node', '--help')[1].partition('Commands; ')[2].split())
    assert {*COMMAND_PROGRAMS.values()} == {getattr(entry, name) for name in SCRIPTS.values()} - {
        entry.ik_node} | {COMMAND_PROGRAMS[name] for name in WITHOUT_SCRIPTS}
    for command, program in COMMAND_PROGRAMS.items():
        assert f' {command} {program.__doc__}' in said
    for command, script in (('replay', 'ik_replay'), ('viewer', 'ik_viewer'),
                            *((name, f'ik_node {name}') for name in WITHOUT_SCRIPTS)):
        code, said, complaints, heavy, _ = run('ik_node', command, '--help')
        assert code == 0 and said.startswith(f'usage: {script} ') and heavy == '[]', complaints
    code, _, said, heavy, _ = run('ik_node', 'replay', '--no-such-option')
    assert code == 2 and 'ik_replay: error: ' in said and heavy == '[]'


def test_a_command_that_there_is_not():
    """One sentence with those that there are; the node does not start."""
    code, said, complaints, heavy, _ = run('ik_node', 'demos')
    assert code == 2 and heavy == '[]' and not said
    assert complaints.startswith("ik_node: error: there is no command 'demos'; give one of demo, ")
    assert complaints.endswith(' or none to run the node') and '\n' not in complaints


@pytest.mark.parametrize('script', NODES)
def test_help_of_a_node_has_every_parameter(script):
    """With its default and its description, in the order of the table."""
    said = run(script, '--help')[1]
    plain = ' '.join(said.split())
    position = 0
    for row in NODES[script]:
        position = plain.index(f' {row.name}: ', position)
        assert ' '.join(row.description.split()) in plain[position:]
    assert said.count('\n        ') >= len(NODES[script])
    assert max(map(len, said.splitlines())) < 100


@pytest.mark.parametrize('script', OPTIONS)
def test_wrong_usage(script):
    """An unknown option: exit code 2, the usage, and nothing heavy is imported."""
    code, _, said, heavy, _ = run(script, '--no-such-option')
    assert code == 2 and said.startswith(f'usage: {script} ') and heavy == '[]'
    assert f'{script}: error: ' in said


def test_names_of_methods_and_limits():
    """The command line names them without importing them: its list is theirs."""
    assert METHOD_NAMES == (PRODUCTION_METHOD, *TEXTBOOK_METHODS)
    assert LIMIT_MODES == tuple(Limits)
