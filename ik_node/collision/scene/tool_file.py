# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Tools that have a name, from YAML files: where their centre point is, and their shape.

.. code-block:: yaml

    tools:
      probe: {position: [0.0, 0.0, 0.08]}               # x, y, z, m; it has no shape
      gripper:
        position: [0.0, 0.0, 0.12]
        orientation: [0.0, 0.0, 1.5708]                 # roll, pitch, yaw, rad, as in a URDF
        shapes:
          - {cylinder: [0.03, 0.06], xyz: [0.0, 0.0, 0.03]}     # radius, length along z
          - {box: [0.08, 0.02, 0.05], xyz: [0.0, 0.0, 0.085]}
        padding: 0.002                                  # m, added to the shapes all round
        touch: [link_5]
        mass: 0.9                                       # kg
        center_of_mass: [0.0, 0.0, 0.05]                # m
      torch:
        link: flange                                    # its x axis points outward
        position: [0.2, 0.0, 0.05]
        shapes:
          - {mesh: meshes/torch.stl, scale: 0.001}

``position`` and ``orientation`` describe the tool centre point in ``link``, by default the
tip link of the arm; another link has to be fixed to it.  The shapes are in the same link, not at
the tool centre point.  They are box, cylinder, sphere, capsule, hull and mesh, as objects of a
scene have them (:mod:`ik_node.collision.scene.scene_file`), each with ``xyz`` and ``rpy`` or
``quat``.  ``touch`` lists links, and ids of objects, that they may touch.  ``center_of_mass`` is
in the same link, too.  Unknown keys, and keys that are given twice, are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ik_node.base.checks import finite_array
from ik_node.base.errors import ParameterError
from ik_node.base.text import printable, quote, shown
from ik_node.collision.bodies.ground import GROUND_NAME
from ik_node.collision.bodies.part_checks import checked_padding
from ik_node.collision.bodies.parts import Body
from ik_node.collision.scene.scene_file import parts_of_shapes
from ik_node.kinematics.arguments import did_you_mean
from ik_node.kinematics.links import link_pose, path_between
from ik_node.model.chain import Chain
from ik_node.model.description.file_paths import file_of, read_limited
from ik_node.model.description.urdf import Tree
from ik_node.model.tool import check_center_of_mass, tool_pose
from ik_node.model.user_files.named_poses import check_name
from ik_node.model.user_files.plain_yaml import read_plain_yaml

MAX_TOOLS_BYTES = 2**20
TOOLS_KEY = 'tools'
TOOL_KEYS = ('position', 'orientation', 'link', 'shapes', 'padding', 'touch', 'mass',
             'center_of_mass')
MAX_TOOL_MASS_KG = 1e4
EXAMPLE_TOOL = '{position: [0.0, 0.0, 0.12]}'


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool on an arm."""

    name: str
    link: str
    """The link that holds it, the tip link or one that is fixed to it."""
    T_link_tool: np.ndarray
    """(4, 4), pose of its centre point in the tip link, m."""
    body: Body | None
    """Its shape; None without."""
    touch: frozenset[str]
    """Links and objects that its body may touch."""
    mass: float = 0.0
    """kg; 0 if it is not given."""
    center_of_mass: tuple[float, ...] = (0.0, 0.0, 0.0)
    """3 numbers, in the tip link, m."""


def read_tools(path: str, tree: Tree, chain: Chain,
               search_paths: Sequence[str | Path] = ()) -> dict[str, Tool]:
    """
    Return the tools of a YAML file by their names.

    Parameters
    ----------
    path : str
        A path, ``file:///PATH`` or ``package://NAME/PATH``.
    chain : Chain
        The arm that holds them.
    search_paths : sequence of paths
        Folders with meshes, as for :func:`ik_node.model.description.mesh_files.resolve`.

    Raises
    ------
    ParameterError
        If the file cannot be read, or a tool is not allowed; names the file and the tool.

    """
    what = f'the tools {quote(path, 300)}'
    try:
        file = file_of(path)
    except LookupError as error:
        raise ParameterError(f'cannot read {what}: {error.args[0]}') from None
    data = read_limited(file, what, MAX_TOOLS_BYTES, 'put shapes into mesh files')
    return _tools(data, what, tree, chain, file.parent, search_paths)


def tools_from_yaml(text: str, tree: Tree, chain: Chain) -> dict[str, Tool]:
    """
    Return the tools of a YAML text; relative paths of meshes are refused.

    Raises
    ------
    ParameterError
        If a tool is not allowed; names it.

    """
    return _tools(text.encode('utf-8', errors='replace'), 'the tools', tree, chain, None, ())


def _tools(data: bytes, what: str, tree: Tree, chain: Chain, folder: Path | None,
           search_paths: Sequence[str | Path]) -> dict[str, Tool]:
    found = {}
    entries = read_plain_yaml(data, what, TOOLS_KEY, 'the name of each tool to what it is')
    for name, entry in entries.items():
        try:
            found[name] = _tool(name, entry, tree, chain, folder, search_paths)
        except ParameterError as error:
            raise ParameterError(f'{what}, at {TOOLS_KEY}.{printable(str(name), 80)}: '
                                 f'{error}') from None
    return found


def _tool(name: object, entry: Any, tree: Tree, chain: Chain, folder: Path | None,
          search_paths: Sequence[str | Path]) -> Tool:
    name = check_name(name, 'a tool')
    if name in tree.links or name == GROUND_NAME:
        raise ParameterError(f'a {"link of the robot" if name in tree.links else "body"} has this '
                             'name, too; give the tool another')
    if not isinstance(entry, dict):
        raise ParameterError(f'it is {shown(entry, 80)}; it must be as {EXAMPLE_TOOL}')
    for key in entry:
        if key not in TOOL_KEYS:
            raise ParameterError(f'the key {quote(key)} is unknown' + did_you_mean(key, TOOL_KEYS))
    link = _link(entry.get('link', ''), tree, chain.tip_link)
    position, orientation = (
        finite_array(entry.get(key, (0.0, 0.0, 0.0)), (3,), f'{key} ({names})')
        for key, names in (('position', 'x, y, z'), ('orientation', 'roll, pitch, yaw')))
    T_tip_link = link_pose(tree, link, chain.tip_link, {})
    T_link_tool = T_tip_link @ tool_pose(position, orientation)
    chain.with_tool(T_link_tool)  # its length is allowed
    touch = [] if entry.get('touch') is None else entry['touch']
    if not isinstance(touch, list) or not all(isinstance(each, str) for each in touch):
        raise ParameterError(f'touch is {shown(touch, 80)}; it must be a list of links and ids '
                             'of objects')
    parts = parts_of_shapes(entry.get('shapes', []), folder, search_paths)
    padding = checked_padding(entry.get('padding', 0.0), 'the tool')
    body = Body(name, link, parts, padding) if parts else None
    T_link_tool.setflags(write=False)
    centre = finite_array(entry.get('center_of_mass', (0.0, 0.0, 0.0)), (3,),
                          'center_of_mass (x, y, z)')
    mass = float(finite_array(entry.get('mass', 0.0), (), 'mass (kg)'))
    if not 0.0 <= mass <= MAX_TOOL_MASS_KG:
        raise ParameterError(f'mass is {mass:g} kg; it must be 0 to {MAX_TOOL_MASS_KG:g} kg')
    in_tip = tuple((T_tip_link[:3, :3] @ centre + T_tip_link[:3, 3]).tolist())
    check_center_of_mass(in_tip)
    return Tool(name, link, T_link_tool, body, frozenset(touch), mass, in_tip)


def _link(name: object, tree: Tree, tip_link: str) -> str:
    """Return the link that holds a tool."""
    if not isinstance(name, str):
        raise ParameterError(f'link is {shown(name, 80)}; it must be the name of a link')
    link = name or tip_link
    if any(joint.moves for joint, _ in path_between(tree, tip_link, link)):
        raise ParameterError(f'the link {quote(link)} is not fixed to the tip link '
                             f'{quote(tip_link)}; choose one that is')
    return link
