# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Scenes as YAML files.

.. code-block:: yaml

    objects:
      floor: {plane: 0.0}                     # all below z = 0 is solid
      table: {box: [1.0, 0.6, 0.04], xyz: [0.6, 0.0, 0.2], rpy: [0.0, 0.0, 0.3]}
      post: {cylinder: [0.05, 1.2], xyz: [0.4, 0.4, 0.6]}      # radius, length along z
      ball: {sphere: 0.1, xyz: [0.5, 0.0, 0.5], padding: 0.01}
      pipe: {capsule: [0.03, 0.8], quat: [0.0, 0.7071068, 0.0, 0.7071068]}
      shelf: {mesh: meshes/shelf.stl, scale: 0.001, xyz: [0.0, -0.8, 0.0]}
      scan: {points: [[0.5, 0.1, 0.2], [0.5, 0.1, 0.3]], voxel: 0.02}
      tray:                                   # several parts, each with a pose in the tray
        parts:
          - {box: [0.3, 0.2, 0.01]}
          - {box: [0.3, 0.01, 0.05], xyz: [0.0, 0.1, 0.03]}
        xyz: [0.6, 0.0, 0.23]
      tool: {box: [0.05, 0.05, 0.2], frame: hand, attach: [left_finger, right_finger]}
      lid: {box: [0.2, 0.2, 0.01], xyz: [0.6, 0.3, 0.22], touch: [hand, tool]}

Each object has one shape: box, cylinder, sphere, capsule, plane, mesh, points, hull (its
vertices) or parts.  ``xyz`` (m) with ``rpy`` (rad, fixed axes) or ``quat`` (x, y, z, w) is its
pose in ``frame``, a link of the robot, by default the base link.  ``padding`` (m) is added all
round.  ``attach`` lists the links that an object in the hand may touch; its frame is the link
that holds it.  ``touch`` lists links, objects and tools that any object may touch.  A mesh is
found as the meshes of a URDF are: beside the file, or by package://.  Unknown keys, and keys that
are given twice, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ik_node.base.checks import finite_array
from ik_node.base.errors import ParameterError
from ik_node.base.se3 import pose, rotation_from_quaternion, rotation_from_rpy, rotation_log
from ik_node.base.text import printable, quote, shown
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.scene.scene import Scene, SceneObject
from ik_node.kinematics.arguments import did_you_mean
from ik_node.model.description.file_paths import read_limited
from ik_node.model.description.mesh_files import resolve
from ik_node.model.joints import require_radians
from ik_node.model.user_files.plain_yaml import read_plain_yaml

MAX_SCENE_BYTES = 16 * 2**20
LONG_SCENE_ADVICE = 'put its shapes into mesh files'
MAX_NORM_ERROR = 0.1  # of a quaternion, which is normalised
PART_SHAPES = ('box', 'cylinder', 'sphere', 'capsule', 'plane', 'hull')
OBJECT_SHAPES = (*PART_SHAPES, 'mesh', 'points', 'parts')
RIGID_SHAPES = ('box', 'cylinder', 'sphere', 'capsule', 'hull', 'mesh')
POSE_KEYS = ('xyz', 'rpy', 'quat')
OBJECT_KEYS = (*POSE_KEYS, 'frame', 'padding', 'attach', 'touch')
SHAPE_OPTIONS = {'mesh': ('scale',), 'points': ('voxel',)}  # keys of one shape alone


def read_scene(path: str | Path, base_link: str = '', links: Iterable[str] = (),
               search_paths: Sequence[str | Path] = (), tools: Iterable[str] = ()) -> Scene:
    """
    Return the scene of a YAML file.

    Parameters
    ----------
    base_link, links, tools
        As for :class:`ik_node.collision.scene.scene.Scene`.
    search_paths : sequence of paths
        Folders with meshes, as for :func:`ik_node.model.description.mesh_files.resolve`.

    Raises
    ------
    ParameterError
        If the file cannot be read, or an entry is not allowed; names the file and the key.

    """
    path = Path(path).expanduser()
    what = f'the scene {quote(path, 300)}'
    data = read_limited(path, what, MAX_SCENE_BYTES, LONG_SCENE_ADVICE)
    scene = Scene(base_link, links, tools)
    _add_yaml(scene, data, what, path.parent, search_paths)
    return scene


def scene_from_yaml(text: str, base_link: str = '', links: Iterable[str] = ()) -> Scene:
    """
    Return the scene of a YAML text; relative paths of meshes are refused.

    Raises
    ------
    ParameterError
        If an entry is not allowed; names the key.

    """
    data = text.encode('utf-8', errors='replace')
    if len(data) > MAX_SCENE_BYTES:
        raise ParameterError(f'the scene has more than {MAX_SCENE_BYTES // 2**20} MiB; '
                             f'{LONG_SCENE_ADVICE}')
    scene = Scene(base_link, links)
    _add_yaml(scene, data, 'the scene', None, ())
    return scene


def parts_of_shapes(entries: Any, folder: Path | None,
                    search_paths: Sequence[str | Path] = ()) -> tuple[ConvexPart, ...]:
    """
    Return the parts of shapes that move together, such as of a tool.

    Parameters
    ----------
    entries : list of dict
        Each with one of RIGID_SHAPES as an object of a scene has it, and ``xyz`` with ``rpy`` or
        ``quat``.
    folder : path or None
        In which relative paths of meshes begin; None refuses them.
    search_paths : sequence of paths
        As for :func:`read_scene`.

    Raises
    ------
    ParameterError
        If it is no list, or an entry is not allowed.

    """
    if not isinstance(entries, list):
        raise ParameterError(f'shapes is {shown(entries, 80)}; it must be a list of shapes, for '
                             'example [{box: [0.1, 0.1, 0.2]}]')
    scene = Scene()
    for number, entry in enumerate(entries, start=1):
        _shape(entry, RIGID_SHAPES, POSE_KEYS)
        _add_entry(scene, f'shape {number}', entry, folder, search_paths)
    return tuple(part for body in scene.bodies for part in body.parts)


def scene_to_yaml(scene: Scene) -> str:
    """
    Return a scene as YAML from which :func:`scene_from_yaml` makes it again.

    Meshes are written as hulls, points as boxes.
    """
    return yaml.safe_dump({'objects': {item.id: _object_entry(item)
                                       for item in scene.objects.values()}},
                          sort_keys=False, default_flow_style=None, allow_unicode=True)


# ---- reading ----------------------------------------------------------------

def _add_yaml(scene: Scene, data: bytes, what: str, folder: Path | None,
              search_paths: Sequence[str | Path]) -> None:
    """Add the objects of a YAML text to a scene."""
    entries = read_plain_yaml(data, what, 'objects', 'the id of each object to its shape')
    # Objects may touch others that are listed after them.
    for read in (partial(_add_entry, folder=folder, search_paths=search_paths), _allow):
        for id, entry in entries.items():
            try:
                read(scene, id, entry)
            except ParameterError as error:
                raise ParameterError(f'{what}, at objects.{printable(str(id), 80)}: '
                                     f'{error}') from None


def _add_entry(scene: Scene, id: str, entry: Any, folder: Path | None,
               search_paths: Sequence[str | Path]) -> None:
    shape = _shape(entry, OBJECT_SHAPES, OBJECT_KEYS)
    options = {'T': _pose(entry), 'frame': entry.get('frame', ''),
               'padding': entry.get('padding', 0.0)}
    if shape == 'mesh':
        path, fault = resolve(str(entry['mesh']), search_paths, folder)
        if path is None:
            raise ParameterError(fault.replace('URDF', 'scene'))
        scene.add_mesh(id, path, entry.get('scale', 1.0), **options)
    elif shape == 'points':
        if 'voxel' not in entry:
            raise ParameterError('points need a voxel, the edge of the cubes that are solid, m')
        scene.add_points(id, entry['points'], entry['voxel'], **options)
    elif shape == 'parts':
        if not isinstance(entry['parts'], list):
            raise ParameterError(f'parts is {shown(entry["parts"], 80)}; it must be a list of '
                                 'shapes')
        scene.add_parts(id, [_part(part, _shape(part, PART_SHAPES, POSE_KEYS))
                             for part in entry['parts']], **options)
    else:
        part = _part(entry, shape)
        scene.add_parts(id, [ConvexPart(part.kind, part.size, _height(entry, shape),
                                        part.vertices)], **options)
    if 'attach' in entry:
        scene.attach(id, scene.objects[id].frame, _names(entry, 'attach', 'links'))


def _allow(scene: Scene, id: str, entry: Mapping[str, Any]) -> None:
    if 'touch' in entry:
        scene.allow(id, _names(entry, 'touch', 'links and objects'))


def _names(entry: Mapping[str, Any], key: str, what: str) -> list[str]:
    """Return a list of names of an entry; nothing is an empty one."""
    names = [] if entry[key] is None else entry[key]
    if not isinstance(names, list):
        raise ParameterError(f'{key} is {shown(names, 80)}; it must be a list of {what}, which '
                             'may be empty')
    return names


def _shape(entry: Any, shapes: tuple[str, ...], keys: tuple[str, ...]) -> str:
    """Return the key of an entry that is its shape; refuse other keys than the known ones."""
    if not isinstance(entry, dict):
        raise ParameterError(f'it is {shown(entry, 80)}; it must have a shape, for example '
                             'box: [1, 1, 0.1]')
    found = [key for key in entry if key in shapes]
    if len(found) != 1:
        raise ParameterError(f'it has the shapes {", ".join(found) or "none"}; it must have one '
                             f'of {", ".join(shapes)}')
    known = (*shapes, *keys, *SHAPE_OPTIONS.get(found[0], ()))
    for key in entry:
        if key not in known:
            raise ParameterError(f'the key {quote(key)} is unknown' + did_you_mean(key, known))
    return found[0]


def _part(entry: Mapping[str, Any], shape: str) -> ConvexPart:
    """Return one convex part at its pose; its numbers are checked by the scene."""
    value = entry[shape]
    T = _pose(entry) @ _height(entry, shape)
    if shape == 'hull':
        return ConvexPart('hull', (), T, value)
    size = () if shape == 'plane' else (value,) if shape == 'sphere' else value
    return ConvexPart(shape, size, T, NO_VERTICES)


def _height(entry: Mapping[str, Any], shape: str) -> np.ndarray:
    """Return the pose of a part in the pose of its entry: of a plane, its height."""
    T = np.eye(4)
    if shape == 'plane':
        T[2, 3] = finite_array(entry['plane'], (), 'the height of the plane (m)')
    return T


def _pose(entry: Mapping[str, Any]) -> np.ndarray:
    """Return the pose (4, 4) that xyz and rpy or quat of an entry give."""
    if 'rpy' in entry and 'quat' in entry:
        raise ParameterError('it has rpy and quat; give one of them')
    R = np.eye(3)
    if 'rpy' in entry:
        rpy = finite_array(entry['rpy'], (3,), 'rpy')
        require_radians(rpy, 'rpy')
        R = rotation_from_rpy(*rpy)
    elif 'quat' in entry:
        quaternion = finite_array(entry['quat'], (4,), 'quat')
        norm = np.linalg.norm(quaternion)
        if not abs(norm - 1.0) <= MAX_NORM_ERROR:
            raise ParameterError(f'quat has the norm {norm:g}; x, y, z, w of norm 1 are needed')
        R = rotation_from_quaternion(quaternion / norm)
    return pose(R, finite_array(entry.get('xyz', (0.0, 0.0, 0.0)), (3,), 'xyz'))


# ---- writing ----------------------------------------------------------------

def _object_entry(item: SceneObject) -> dict[str, Any]:
    alone = len(item.parts) == 1 and np.array_equal(item.parts[0].T, np.eye(4))
    entry: dict[str, Any] = _part_entry(item.parts[0], item.T) if alone else {
        'parts': [_part_entry(part, part.T) for part in item.parts], **_pose_entry(item.T)}
    if item.frame:
        entry['frame'] = item.frame
    if item.padding:
        entry['padding'] = item.padding
    if item.touch_links is not None:
        entry['attach'] = sorted(item.touch_links)
    if item.allowed:
        entry['touch'] = sorted(item.allowed)
    return entry


def _part_entry(part: ConvexPart, T: np.ndarray) -> dict[str, Any]:
    value: Any = list(part.size)
    if part.kind == 'hull':
        value = part.vertices.tolist()
    elif part.kind == 'plane':
        value = 0.0
    elif part.kind == 'sphere':
        value = part.size[0]
    return {part.kind: value, **_pose_entry(T)}


def _pose_entry(T: np.ndarray) -> dict[str, list[float]]:
    """Return xyz and quat of a pose, without those that are zero."""
    entry = {'xyz': T[:3, 3].tolist()} if T[:3, 3].any() else {}
    vector = rotation_log(T[:3, :3])
    angle = np.linalg.norm(vector)
    if angle > 0.0:
        entry['quat'] = [*(np.sin(0.5 * angle) * vector / angle).tolist(),
                         float(np.cos(0.5 * angle))]
    return entry
