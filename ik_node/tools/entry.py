# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The executables.

The command line is read first: help and wrong usage are answered before anything heavy is
imported.  A package that is not installed is named in one sentence.

``ik_node`` runs the node; with a command as its first argument, as in ``ik_node demo``, the
program of that command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
import os
import signal
import sys
from textwrap import fill
from typing import NoReturn

from ik_node.base.system import END_SIGNALS, INTERRUPTED_CODE, missing, share_file
from ik_node.base.text import quote

LINE_CHARACTERS = 98
NODE_DESCRIPTIONS = {
    'ik_node': 'Takes goal poses, solves inverse kinematics, and sends joint trajectories to a '
               'controller.',
    'ik_arms': 'Moves the arms of one robot, each by goals of its own, or all in step.  With '
               '--simulate as its first argument it also starts a simulated controller for each.',
    'sim_controller': 'Simulates a joint_trajectory_controller and the arm that it moves.',
    'viewer': 'Shows the arm in the browser; the goal can be dragged there.',
    'handheld': 'Serves a page by which a phone or a headset moves the arm.',
    'interactive_goal': 'Shows the goal in RViz as an interactive marker that can be dragged.',
}


def node_help(program: str, node: str, commands: Mapping[str, str] | None = None) -> str:
    """
    Return the help of a node: its usage, commands, and each parameter with its default.

    The parameters are read from the shipped ``config/ik_node.yaml``, which has all of them,
    so that neither ROS nor the compiler is loaded.

    Parameters
    ----------
    program : str
        Name of the executable.
    node : str
        Name of the ROS node.
    commands : mapping of str to str, optional
        Name and description of each command that the executable takes instead.

    """
    lines = [
        f'usage: {program} [--ros-args [-p NAME:=VALUE]... [--params-file FILE] '
        '[-r FROM:=TO]...]',
        *([f'       {program} COMMAND [ARGUMENT]...'] if commands else []),
        '', fill(NODE_DESCRIPTIONS[node], LINE_CHARACTERS), '']
    if commands:
        width = max(map(len, commands))
        lines += [f'Commands; {program} COMMAND --help tells more:',
                  *(f'  {name:<{width}}  {text}' for name, text in commands.items()), '']
    lines.append('Parameters and their defaults; [] and \'\' are not set:')
    for value, description in parameters(node):
        lines += [f'  {value}', fill(description, LINE_CHARACTERS, initial_indent=8 * ' ',
                                     subsequent_indent=8 * ' ')]
    return '\n'.join([*lines, '', 'Exit code: 0 after SIGINT or SIGTERM, 1 if it cannot start.'])


def parameters(node: str) -> Iterable[tuple[str, str]]:
    """Return ``name: default`` and the description of each parameter of a node."""
    text = share_file('config/ik_node.yaml').read_text(encoding='utf-8')
    _, _, section = text.partition(f'/**/{node}:\n')
    # Each parameter has two lines, its description and its value.  To load a YAML reader would
    # take longer than all the rest.
    lines = [line.strip().removeprefix('# ')
             for line in section.partition('\n/**/')[0].splitlines()[1:] if line.strip()]
    return zip(lines[1::2], lines[::2])


USAGE_ERROR_CODE = 2  # the exit code of argparse


def _main_of(module: str) -> Callable[[], None]:
    """Return the main function of a module; without a package it needs, name it and exit."""
    # For matrices of this size more threads would only wait for one another.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    try:
        return import_module(module).main
    except ImportError as error:
        print(missing((error.name or str(error)).partition('.')[0]), file=sys.stderr)
        sys.exit(1)


def _end_at_signal(code: int) -> None:
    """Have a signal end the process with a code, until somebody else handles it."""
    for number in END_SIGNALS:
        signal.signal(number, lambda *_: os._exit(code))


def _run_node(program: str, node: str, module: str,
              commands: Mapping[str, str] | None = None) -> NoReturn:
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(node_help(program, node, commands))
        sys.exit(0)
    _end_at_signal(0)
    sys.exit(_main_of(module)())  # which handles signals itself


def _node(program: str, node: str, module: str, does: str) -> Callable[[], NoReturn]:
    """Return an executable that runs a node; its docstring says what it does."""
    def run() -> NoReturn:
        _run_node(program, node, module)

    run.__name__, run.__doc__ = program, does
    return run


def _tool(name: str, does: str, module: str = '') -> Callable[[], NoReturn]:
    """Return an executable that reads its arguments, and then runs a command."""
    def run() -> NoReturn:
        _end_at_signal(INTERRUPTED_CODE)
        import_module(f'ik_node.tools.arguments.{name}').parse(sys.argv[1:])
        main = _main_of(f'ik_node.tools.{module or name}')
        for number in END_SIGNALS:
            signal.signal(number, signal.default_int_handler)
        try:
            sys.exit(main())
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED_CODE)

    run.__name__, run.__doc__ = name, does
    return run


def ik_node() -> NoReturn:
    """Run the node, or the program of the command that is the first argument."""
    command = ''.join(sys.argv[1:2])
    if command in COMMAND_PROGRAMS:
        del sys.argv[1]
        COMMAND_PROGRAMS[command]()
    if command and not command.startswith('-'):
        print(f'ik_node: error: there is no command {quote(command)}; give one of '
              f'{", ".join(COMMAND_PROGRAMS)}, or none to run the node', file=sys.stderr)
        sys.exit(USAGE_ERROR_CODE)
    _run_node('ik_node', 'ik_node', 'ik_node.node.node',
              {name: program.__doc__ or '' for name, program in COMMAND_PROGRAMS.items()})


def ik_arms() -> NoReturn:
    """Move several arms; with --simulate, simulated ones."""
    simulate = sys.argv[1:2] == ['--simulate']
    del sys.argv[1:1 + simulate]
    _run_node('ik_arms', 'ik_arms', 'ik_node.tools.simulated_arms' if simulate
              else 'ik_node.node.arms.arms_node')


sim_controller = _node('sim_controller', 'sim_controller', 'ik_node.simulation.node',
                       'Run the simulated controller.')
viewer = _node('ik_viewer', 'viewer', 'ik_node.ui.viewer.node', 'Show the arm in the browser.')
handheld = _node('ik_handheld', 'handheld', 'ik_node.ui.handheld.node',
                 'Move the arm with a phone or a headset.')
interactive_goal = _node('interactive_goal', 'interactive_goal', 'ik_node.ui.rviz_handle',
                         'Show the goal as a handle in RViz.')
send_goal = _tool('send_goal', 'Send one goal and wait for its answer.')
jog = _tool('jog', 'Move the tip by hand.')
teach = _tool('teach', 'Keep waypoints, record motions, and play them back.')
demo = _tool('demo', 'Run the demonstration.', 'demo.command')
ik_doctor = _tool('doctor', 'Find out why nothing moves.', 'doctor.command')
replay = _tool('replay', 'Repeat the calls of a recorded goal.')
compare_methods = _tool('compare_methods', 'Compare the methods of inverse kinematics.',
                        'compare.command')
plot_trajectory = _tool('plot_trajectory', 'Draw a motion.', 'plots.command')
workspace = _tool('workspace', 'Sample where an arm reaches.', 'workspace.command')

# Commands of ``ik_node``, and the programs that they run.
COMMAND_PROGRAMS: dict[str, Callable[[], NoReturn]] = {
    'demo': demo,
    'send_goal': send_goal,
    'jog': jog,
    'teach': teach,
    'doctor': ik_doctor,
    'param': _tool('param', 'Read and set parameters of a running node.'),
    'echo': _tool('echo', 'Print what a running node publishes.'),
    'stop': _tool('stop', 'Bring the arm to rest.'),
    'replay': replay,
    'viewer': viewer,
    'handheld': handheld,
    'arms': ik_arms,
    'sim_controller': sim_controller,
    'interactive_goal': interactive_goal,
    'workspace': workspace,
    'plot_trajectory': plot_trajectory,
    'compare_methods': compare_methods,
}
