# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The help of the nodes: how to give parameters, and all that there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import fill

from ik_node.base.share import share_file

LINE_CHARACTERS = 98
NODE_DESCRIPTIONS = {
    'ik_node': 'Takes goal poses, solves inverse kinematics, and sends joint trajectories to a '
               'controller.',
    'ik_arms': 'Takes the poses of several tips, such as both hands, and moves all arms in step.',
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
        '', NODE_DESCRIPTIONS[node], '']
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
