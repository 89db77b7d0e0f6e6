# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Sample the workspace of an arm, and the share of orientations that it reaches there.

Writes a figure of slices and the numbers, and shows them in RViz and the browser. Only free
postures count.
"""

from __future__ import annotations

import argparse
from math import atan2, hypot
import sys
from time import monotonic
from typing import TextIO

from ik_node.base.errors import IkNodeError, ParameterError
from ik_node.base.system import how_to_install, INTERRUPTED_CODE, require_matplotlib, share_file
from ik_node.collision.bodies.ground import ground_body
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.scene_file import read_scene
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.mesh_files import mesh_search
from ik_node.model.description.urdf import read_urdf, Tree
from ik_node.model.joints import require_radians
from ik_node.ros.messages.conversion import quaternion_from_rpy
from ik_node.tools.arguments.workspace import parse
from ik_node.tools.workspace.plots import draw
from ik_node.tools.workspace.sampling import (
    even_directions,
    even_orientations,
    Orientations,
    sample_workspace,
    Workspace,
)

BAR_WIDTH = 30  # characters
REPORT_PERIOD_S = {True: 0.1, False: 10.0}  # on a terminal, and elsewhere


def main(argv: list[str] | None = None) -> None:
    """Run the command."""
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        if options.publish:
            _require_ros()
        workspace = Workspace.load(options.load) if options.load else _sample(options)
        print(summary(workspace))
    except (IkNodeError, OSError) as error:
        print(f'ik_workspace: {error}', file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print('\nik_workspace: interrupted; nothing was written', file=sys.stderr)
        raise SystemExit(INTERRUPTED_CODE) from None
    if options.publish:
        _publish(workspace, options.frame_prefix, options.ros_arguments)


def _sample(options: argparse.Namespace) -> Workspace:
    """Sample the workspace and write the files."""
    if not options.no_picture:
        require_matplotlib(', or leave the picture out with --no-picture')
    tree = read_urdf(options.urdf or share_file('urdf/six_axis_arm.urdf'))
    chain = make_chain(tree, options.base_link, options.tip_link)
    collisions = None if options.no_collisions else _collisions(tree, chain, options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(sys.stderr)
    try:
        workspace = sample_workspace(
            chain, options.box, options.spacing, _orientations(options),
            limit_margin=options.limit_margin, collisions=collisions, progress=progress)
    finally:
        progress.end()
    files = [options.out.with_name(options.out.name + '.npz')]
    workspace.save(files[0])
    if not options.no_picture:
        files.append(options.out.with_name(options.out.name + '.png'))
        draw(workspace, chain, files[1])
    print(f'written to {" and ".join(map(str, files))}', file=sys.stderr)
    return workspace


def _collisions(tree: Tree, chain: Chain, options: argparse.Namespace) -> CollisionModel:
    """Return the collision model; says which links are not checked."""
    bodies = arm_bodies(tree, mesh_search(tree, options.mesh_paths))
    for sentence in bodies.warnings:
        print(f'ik_workspace: {sentence}', file=sys.stderr)
    scene = read_scene(options.scene, chain.base_link, tree.links, options.mesh_paths) \
        if options.scene else Scene(chain.base_link, tree.links)
    objects = scene.bodies if options.ground is None \
        else (*scene.bodies, ground_body(options.ground))
    return CollisionModel(chain, tree, bodies).with_objects(
        objects, options.margin, scene.snapshot.touch_links)


def _orientations(options: argparse.Namespace) -> Orientations:
    if options.rpy:
        require_radians(options.rpy, '--rpy')
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
            f'them {int(workspace.dexterous.sum())} cells; {workspace.collisions}')


def _require_ros() -> None:
    """Raise a ParameterError if ROS is not installed."""
    try:
        import ik_node.tools.workspace.point_cloud  # noqa: F401
    except ImportError as error:
        module = (error.name or 'rclpy').partition('.')[0]
        raise ParameterError(f'--publish needs {module}, which is not installed here: '
                             f'{how_to_install(module)}; or leave out --publish') from None


def _publish(workspace: Workspace, frame_prefix: str, ros_arguments: list[str]) -> None:
    """Publish until SIGINT or SIGTERM; then the exit code is 0."""
    from ik_node.ros.middleware.process import run
    from ik_node.tools.workspace.point_cloud import WorkspaceCloud
    run('workspace', lambda: WorkspaceCloud(workspace, frame_prefix), ros_arguments)
