# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Sample the workspace of an arm, and the share of orientations that it reaches there.

Writes a figure of slices and the numbers, and shows them in RViz and the browser. Joint limits
are kept; collisions, of the arm with itself or with anything else, are NOT considered.
"""

from __future__ import annotations

import argparse
from math import atan2, hypot
from pathlib import Path
import sys
from time import monotonic
from typing import TextIO

import numpy as np

from ik_node.command_line import finite
from ik_node.errors import IkNodeError, ParameterError
from ik_node.model.chain import make_chain
from ik_node.model.urdf import read_urdf
from ik_node.ros.rotations import quaternion_from_rpy
from ik_node.share import share_file
from ik_node.workspace.orientations import (
    even_directions,
    even_orientations,
    Orientations,
)
from ik_node.workspace.plots import draw
from ik_node.workspace.sampling import sample_workspace, Workspace

DEFAULT_ORIENTATIONS = 60
MAX_ORIENTATIONS = 100_000
BAR_WIDTH = 30  # characters
REPORT_PERIOD_S = {True: 0.1, False: 10.0}  # on a terminal, and elsewhere


def parse(argv: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog='workspace', description=__doc__,
        epilog='exit code: 0 done, 2 failed, with the reason, 130 interrupted')
    parser.add_argument('--urdf', help='URDF file (default: the six-axis arm of this package)')
    parser.add_argument('--base-link', default='', help='default: found')
    parser.add_argument('--tip-link', default='', help='default: found')
    parser.add_argument('--box', nargs=6, type=float,
                        metavar=('X0', 'X1', 'Y0', 'Y1', 'Z0', 'Z1'),
                        help='box to sample, m in the base link; two equal numbers give one '
                             'layer (default: the reach of the stretched arm)')
    parser.add_argument('--spacing', type=float, metavar='M',
                        help='distance between cells, m (default: a twelfth of the reach)')
    orientation = parser.add_mutually_exclusive_group()
    orientation.add_argument(
        '--orientations', type=int, default=DEFAULT_ORIENTATIONS, metavar='N',
        help='even orientations of the tip in each cell (default %(default)s)')
    orientation.add_argument(
        '--directions', type=int, metavar='N',
        help="even directions of the tip's z axis instead, free to rotate about it")
    orientation.add_argument(
        '--rpy', nargs=3, type=finite, metavar=('ROLL', 'PITCH', 'YAW'),
        help='one orientation instead, by fixed-axis angles, rad')
    orientation.add_argument(
        '--pointing', nargs=3, type=finite, metavar=('X', 'Y', 'Z'),
        help="one direction of the tip's z axis instead, free to rotate about it")
    parser.add_argument('--limit-margin', type=float, default=0.0, metavar='Q',
                        help='distance of the joints from their limits, rad or m (default 0)')
    parser.add_argument('--load', type=Path, metavar='FILE',
                        help='show the file of an earlier run instead of sampling')
    parser.add_argument('--out', type=Path, default=Path('workspace'), metavar='NAME',
                        help='write NAME.png and NAME.npz (default ./workspace)')
    parser.add_argument('--no-picture', action='store_true',
                        help='draw no figure; matplotlib is then not needed')
    parser.add_argument('--publish', action='store_true',
                        help='publish the cells as a point cloud on the topic workspace until '
                             'Ctrl-C (needs ROS)')
    parser.add_argument('--frame-prefix', default='',
                        help='prefix of the link names in TF, as in robot_state_publisher')
    options = parser.parse_args(argv)
    for count in (options.orientations, options.directions):
        if count is not None and not 1 <= count <= MAX_ORIENTATIONS:
            parser.error(f'--orientations and --directions are from 1 to {MAX_ORIENTATIONS}')
    if options.pointing and not np.linalg.norm(options.pointing) > 0.0:
        parser.error('--pointing needs a direction, e.g. 0 0 -1 for down')
    if options.load and (options.box or options.spacing or options.rpy or options.limit_margin):
        parser.error('--load shows an earlier run; --box, --spacing, --rpy and --limit-margin '
                     'do not change it')
    return options


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    ours, ros_arguments = _split(sys.argv[1:] if argv is None else argv)
    options = parse(ours)
    try:
        if options.publish:
            _require_ros()
        workspace = Workspace.load(options.load) if options.load else _sample(options)
        print(summary(workspace))
    except (IkNodeError, OSError) as error:
        print(f'workspace: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print('\nworkspace: interrupted; nothing was written', file=sys.stderr)
        raise SystemExit(130) from None
    if options.publish:
        _publish(workspace, options.frame_prefix, ros_arguments)


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of this program and of ROS (from --ros-args to -- or the end)."""
    if '--ros-args' not in argv:
        return argv, []
    start = argv.index('--ros-args')
    end = argv.index('--', start) + 1 if '--' in argv[start:] else len(argv)
    return argv[:start] + argv[end:], argv[start:end]


def _sample(options: argparse.Namespace) -> Workspace:
    """Sample the workspace and write the files."""
    chain = make_chain(read_urdf(options.urdf or share_file('urdf/six_axis_arm.urdf')),
                       options.base_link, options.tip_link)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(sys.stderr)
    try:
        workspace = sample_workspace(
            chain, options.box, options.spacing, _orientations(options),
            limit_margin=options.limit_margin, progress=progress)
    finally:
        progress.end()
    files = [options.out.with_name(options.out.name + '.npz')]
    workspace.save(files[0])
    if not options.no_picture:
        files.append(options.out.with_name(options.out.name + '.png'))
        draw(workspace, chain, files[1])
    print(f'written to {" and ".join(map(str, files))}', file=sys.stderr)
    return workspace


def _orientations(options: argparse.Namespace) -> Orientations:
    if options.rpy:
        return Orientations(quaternion_from_rpy(*options.rpy)[None])
    if options.pointing:
        x, y, z = options.pointing
        return Orientations(
            quaternion_from_rpy(0.0, atan2(hypot(x, y), z), atan2(y, x))[None], pointing=True)
    if options.directions:
        return Orientations(even_directions(options.directions), pointing=True)
    return Orientations(even_orientations(options.orientations))


class Progress:
    """
    Report the progress: a bar on a terminal, elsewhere a line every ten seconds.

    Called with the name of the stage, the number of poses done and the number of all poses.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._what = stream, ''
        self._terminal = stream.isatty()
        self._began = self._shown = monotonic()

    def __call__(self, what: str, done: int, of_all: int) -> None:
        """Report the number of poses done."""
        now = monotonic()
        if done == 0:
            self._what, self._began = what, now
        if done == 0 or (now - self._shown < REPORT_PERIOD_S[self._terminal] and done < of_all):
            return
        self._shown = now
        elapsed = max(now - self._began, 1e-3)
        text = (f'{what}: {done} of {of_all} poses, {done / elapsed:.0f} per second, '
                f'{elapsed * (of_all / done - 1.0):.0f} s left')
        if self._terminal:
            filled = BAR_WIDTH * done // of_all
            self._stream.write(f'\r[{"#" * filled}{"." * (BAR_WIDTH - filled)}] {text}\033[K')
        else:
            self._stream.write(text + '\n')
        self._stream.flush()

    def end(self) -> None:
        """End the line of the bar."""
        if self._terminal and self._what:
            self._stream.write('\n')


def summary(workspace: Workspace) -> str:
    """Return the result in one line."""
    cell, reached = workspace.spacing**3, int(workspace.reachable.sum())
    count, tip, base = len(workspace.orientations), workspace.tip_link, workspace.base_link
    what = 'directions' if workspace.pointing else 'orientations'
    mean = workspace.share[workspace.reachable].mean() if reached else 0.0
    return (f'{tip} in {base}: {reached} of {workspace.share.size} cells reached '
            f'({reached * cell:.3g} m3), on average in {mean:.0%} of {count} {what}, in all of '
            f'them {int(workspace.dexterous.sum())} cells')


def _require_ros() -> None:
    """Raise a ParameterError if ROS is not installed."""
    try:
        import ik_node.workspace.point_cloud  # noqa: F401
    except ImportError as error:
        raise ParameterError(f'--publish needs {error.name or "ROS"}, which is not installed '
                             'here; source your ROS 2 setup.bash, or leave out --publish'
                             ) from None


def _publish(workspace: Workspace, frame_prefix: str, ros_arguments: list[str]) -> None:
    """Publish until SIGINT or SIGTERM; then the exit code is 0."""
    from ik_node.ros.process import run
    from ik_node.workspace.point_cloud import WorkspaceCloud
    run('workspace', lambda: WorkspaceCloud(workspace, frame_prefix), ros_arguments)
