# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Make docs/images/reach.png: a humanoid reaches with its arm, with its chest, and with its leg.

Run in the source folder: ``.venv/bin/python scripts/reach_picture.py [--output FILE]``.  Needs
matplotlib, and the URDF of Talos, which ``pip install example-robot-data`` brings.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sysconfig

import numpy as np

from ik_node import Goal, load_tree, Solver
from ik_node.kinematics.links import link_poses, path_between
from ik_node.model.description.urdf import read_urdf
from ik_node.tools.plots.figures import LINE_COLOURS, NEUTRAL_GREY, new_figure, save

TALOS_URDF = Path(sysconfig.get_path('purelib'), 'cmeel.prefix/share/example-robot-data/robots',
                  'talos_data/robots/talos_full_v2.urdf')  # of the package example-robot-data
FOOT, HAND = 'left_sole_link', 'gripper_left_base_link'
ENDS = (HAND, 'gripper_right_base_link', 'head_2_link')  # its other leg would hide this one
# The first link that stands still, what moves beyond it, and a goal (m, in the foot).
CASES = (('torso_2_link', 'arm', (0.4, 0.2, 1.2)),
         ('base_link', 'arm and chest', (0.5, 0.2, 0.9)),
         (FOOT, 'arm, chest, hips and leg', (0.6, 0.1, 0.6)))


def main() -> None:
    """Solve each case, and draw the figure from its left side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--output', type=Path, default=Path('docs/images/reach.png'))
    file = parser.parse_args().output
    tree = read_urdf(TALOS_URDF)
    zeros = {joint.name: 0.0 for joint in tree.joints if joint.moves}
    at_zero = link_poses(tree, FOOT, zeros)
    figure = new_figure(9.0, 4.0, '')
    panels = figure.subplots(1, len(CASES), sharex=True, sharey=True)
    for axes, (base, moving, goal) in zip(panels, CASES):
        there = np.linalg.inv(at_zero[base]) @ [*goal, 1.0]
        kinematics = load_tree(TALOS_URDF, base, [HAND])
        result = Solver(kinematics).solve({HAND: Goal.position(there[:3])})
        assert result.success, result.message
        poses = link_poses(tree, FOOT, zeros | result.joint_positions)
        for end in ENDS:
            links = [FOOT]
            for joint, down in path_between(tree, FOOT, end):
                links.append(joint.child if down else joint.parent)
                x, _, z = np.array([poses[link][:3, 3] for link in links[-2:]]).T
                moves = joint.name in kinematics.joint_names
                axes.plot(x, z, color=LINE_COLOURS[0] if moves else NEUTRAL_GREY, linewidth=4,
                          solid_capstyle='round', zorder=2 if moves else 1)
        axes.plot(goal[0], goal[2], 'o', color=LINE_COLOURS[1], markersize=9, fillstyle='none',
                  markeredgewidth=2)
        axes.set_title(f'{moving}: {kinematics.n} joints', fontsize=10)
        axes.set_xlabel('x (m)', fontsize=9)
        axes.set_aspect('equal')
        axes.axhline(0.0, color='black', linewidth=0.8)
    figure.axes[0].set_ylabel('z (m)', fontsize=9)
    save(figure, file)


if __name__ == '__main__':
    main()
