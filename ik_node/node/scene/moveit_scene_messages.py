# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Objects of a scene from and to the messages of MoveIt, moveit_msgs.

The types come from moveit_msgs, where it is installed; nothing here is called without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from math import cos, pi
from typing import Any

from geometry_msgs.msg import Point, Pose
import numpy as np
from shape_msgs.msg import Mesh, MeshTriangle, Plane, SolidPrimitive
from std_msgs.msg import Header

from ik_node.base.errors import ParameterError
from ik_node.base.se3 import inverse, pose, rotation_to_axis
from ik_node.base.text import quote
from ik_node.collision.bodies.part_checks import NO_VERTICES
from ik_node.collision.bodies.parts import ConvexPart
from ik_node.collision.distances.model import DISABLED_REASON
from ik_node.collision.meshes.convex import hull_triangles
from ik_node.collision.meshes.mesh_parts import hulls_of_arrays
from ik_node.collision.scene.scene import Scene, SceneObject
from ik_node.ros.messages.conversion import fill_pose, matrix_from_pose

OPERATION_NAMES = {0: 'ADD', 1: 'REMOVE', 2: 'APPEND', 3: 'MOVE'}
# Of solid primitives: how many dimensions they have.
DIMENSION_COUNTS = {SolidPrimitive.BOX: 3, SolidPrimitive.SPHERE: 1, SolidPrimitive.CYLINDER: 2,
                    SolidPrimitive.CONE: 2}
CONE_CORNERS = 24  # of the hull that contains a cone: 0.9 % wider than it at most
MAX_DEFAULT_PAIRS = 100_000  # that may touch by the defaults of a matrix
SHOWN_NAMES = 5  # in a note
OCTOMAP_ID = '<octomap>'  # reserved, in allowed collision matrices, too


@dataclass
class SceneTarget:
    """The scene that messages change, and the services for reading them."""

    scene: Scene
    told: set[str]  # ids of the objects that came, or were changed, by messages
    links: Collection[str]  # of the robot
    # Returns the link that a name of TF is; None if it is none.
    link_of: Callable[[str], str | None]
    # Returns ``T_base_frame`` (4, 4) of the frame of a header.
    pose_of: Callable[[Header], np.ndarray]
    # By pairs of links of the robot; '' for those that are checked against each other.
    unchecked: dict[frozenset[str], str] = field(default_factory=dict)
    # by link, of the links of the robot that have a body, m
    paddings: dict[str, float] = field(default_factory=dict)
    # Sentences about what a message has that is not kept.
    notes: list[str] = field(default_factory=list)

    def link_pose(self, link: str) -> np.ndarray:
        """Return ``T_base_link`` (4, 4)."""
        return self.pose_of(Header(frame_id=link))


# ---- objects of the world -------------------------------------------------------

def apply_collision_object(target: SceneTarget, message: Any) -> None:
    """
    Add, replace, extend, move or remove an object, by a moveit_msgs/CollisionObject.

    It stays where the frame of its header is now, also if that is a link.  REMOVE without an id
    removes the objects that came by messages and are not attached; an object that is to be
    removed and is not there is gone already.

    Raises
    ------
    IkNodeError
        If it cannot be done: an attached object, an unknown frame, a shape that cannot be.

    """
    scene, id, operation = target.scene, message.id, _operation(message)
    if operation == 'REMOVE':
        for each in [id] if id else sorted(target.told):
            if each not in scene or not id and scene.objects[each].attached:
                continue
            _require_world(scene, each)
            scene.remove(each)
        return
    if id in scene:
        _require_world(scene, id)
    if operation == 'MOVE':
        _move(target, message)
    else:
        T, parts = parts_of(message)
        _note_subframes(target, message)
        T_base_object = _frame_pose(target, message) @ T
        if operation == 'APPEND' and id in scene:
            frame = scene.objects[id].frame
            _put(scene, id, parts, inverse(target.link_pose(frame)) @ T_base_object, True, frame)
        else:
            _put(scene, id, parts, T_base_object, False)
    target.told.add(id)


def _operation(message: Any) -> str:
    number = int.from_bytes(message.operation, 'little')
    if message.id == OCTOMAP_ID:
        raise ParameterError(f'the id {quote(OCTOMAP_ID)} is reserved; octomaps are not read, '
                             'send the points to ~/scene_points')
    if number not in OPERATION_NAMES:
        raise ParameterError(f'the object {quote(message.id)} has the operation {number}; it must '
                             'be ADD (0), REMOVE (1), APPEND (2) or MOVE (3)')
    return OPERATION_NAMES[number]


def _require_world(scene: Scene, id: str) -> None:
    item = scene.objects[id]
    if item.attached:
        raise ParameterError(f'the object {quote(id)} is attached to {quote(item.frame)}; detach '
                             'it first')


def _move(target: SceneTarget, message: Any) -> None:
    what = f'the object {quote(message.id)}'
    if message.primitives or message.meshes or message.planes:
        raise ParameterError(f'{what} is to MOVE and has shapes; leave them out, or use ADD')
    shape_poses = [*message.primitive_poses, *message.mesh_poses, *message.plane_poses]
    T = matrix_from_pose(message.pose, what)
    if len(shape_poses) == 1 and _is_identity(T):
        T = matrix_from_pose(shape_poses[0], what)
    elif shape_poses:
        raise ParameterError(f'{what} is to MOVE and has poses of shapes; give the pose of the '
                             'object alone')
    target.scene.move(message.id, _frame_pose(target, message) @ T)


def _put(scene: Scene, id: str, parts: list[ConvexPart], T: np.ndarray, extend: bool,
         frame: str = '') -> None:
    """
    Add or replace an object at `T` (4, 4) in a frame; or add parts to the one that is there.

    An object that is extended is in that frame already.
    """
    before = scene.objects.get(id)
    padding = 0.0
    if extend and before is not None:
        T_object_new = inverse(before.T) @ T
        parts = [*before.parts, *(ConvexPart(part.kind, part.size, T_object_new @ part.T,
                                             part.vertices) for part in parts)]
        T, padding = before.T, before.padding
    scene.add_parts(id, parts, T, frame, padding)
    if before is not None and before.allowed:
        scene.allow(id, before.allowed)


def _note_subframes(target: SceneTarget, message: Any) -> None:
    if message.subframe_names:
        target.notes.append(f'the object {quote(message.id)} has subframes, which are not kept')


def _frame_pose(target: SceneTarget, message: Any) -> np.ndarray:
    if not message.header.frame_id:
        raise ParameterError(f'the object {quote(message.id)} has no frame_id; give a link, or '
                             'another frame of TF')
    return target.pose_of(message.header)


def parts_of(message: Any) -> tuple[np.ndarray, list[ConvexPart]]:
    """
    Return the pose (4, 4) of an object in the frame of its header, and its parts.

    A shape without a pose is at the pose of the object.  If the object has no pose and one
    shape, the pose of that is the pose of the object, as in MoveIt.
    """
    what = f'the object {quote(message.id)}'
    shapes = []
    for kind, of_kind, poses, read in (
            ('primitives', message.primitives, message.primitive_poses, _primitive),
            ('meshes', message.meshes, message.mesh_poses, _mesh),
            ('planes', message.planes, message.plane_poses, _plane)):
        if len(poses) > len(of_kind):
            raise ParameterError(f'{what} has {len(of_kind)} {kind} and {len(poses)} poses for '
                                 'them; give one pose to each')
        given = [matrix_from_pose(each, what) for each in poses]
        given += [np.eye(4)] * (len(of_kind) - len(poses))
        shapes += [(T, read(shape, what)) for T, shape in zip(given, of_kind)]
    T_object = matrix_from_pose(message.pose, what)
    if len(shapes) == 1 and _is_identity(T_object):
        T_object, shapes = shapes[0][0], [(np.eye(4), shapes[0][1])]
    return T_object, [ConvexPart(part.kind, part.size, T @ part.T, part.vertices)
                      for T, parts in shapes for part in parts]


def _is_identity(T: np.ndarray) -> bool:
    return np.array_equal(T, np.eye(4))


def _primitive(shape: SolidPrimitive, what: str) -> list[ConvexPart]:
    needed = DIMENSION_COUNTS.get(shape.type)
    if needed is None:
        raise ParameterError(f'{what} has a primitive of type {shape.type}; send a BOX (1), '
                             'SPHERE (2), CYLINDER (3) or CONE (4), and others as meshes')
    size = list(shape.dimensions)
    if len(size) < needed:
        raise ParameterError(f'{what} has a primitive of type {shape.type} with {len(size)} '
                             f'dimensions; it needs {needed}')
    if shape.type == SolidPrimitive.BOX:
        return [ConvexPart('box', tuple(size[:3]), np.eye(4), NO_VERTICES)]
    if shape.type == SolidPrimitive.SPHERE:
        return [ConvexPart('sphere', (size[0],), np.eye(4), NO_VERTICES)]
    height, radius = size[:2]
    if shape.type == SolidPrimitive.CYLINDER:
        return [ConvexPart('cylinder', (radius, height), np.eye(4), NO_VERTICES)]
    if not (height > 0.0 and radius > 0.0):
        raise ParameterError(f'{what} has a cone of height {height:g} and radius {radius:g}; both '
                             'must be above 0')
    return [ConvexPart('hull', (), np.eye(4), cone_vertices(height, radius))]


def cone_vertices(height: float, radius: float) -> np.ndarray:
    """
    Return the vertices (v, 3), m, of a hull that contains a cone.

    The base of the cone is at z = -height / 2, its tip at z = height / 2.
    """
    angles = 2.0 * pi / CONE_CORNERS * np.arange(CONE_CORNERS)
    outer = radius / cos(pi / CONE_CORNERS)
    return np.array([*zip(outer * np.cos(angles), outer * np.sin(angles),
                          np.full(CONE_CORNERS, -0.5 * height)), (0.0, 0.0, 0.5 * height)])


def _mesh(shape: Mesh, what: str) -> list[ConvexPart]:
    vertices = np.array([(p.x, p.y, p.z) for p in shape.vertices], dtype=float).reshape(-1, 3)
    faces = np.array([each.vertex_indices for each in shape.triangles],
                     dtype=np.int64).reshape(-1, 3)
    try:
        hulls = hulls_of_arrays(vertices, faces)
    except ParameterError as error:
        raise ParameterError(f'{what}: {error}') from None
    return [ConvexPart('hull', (), np.eye(4), each) for each in hulls.vertices]


def _plane(shape: Plane, what: str) -> list[ConvexPart]:
    """Return the half-space on the side of a plane to which its normal does not point."""
    normal, offset = np.array(shape.coef[:3], dtype=float), float(shape.coef[3])
    length = float(np.linalg.norm(normal))
    if not (np.isfinite([length, offset]).all() and length > 0.0):
        raise ParameterError(f'{what} has a plane with the coefficients '
                             f'{" ".join(f"{value:g}" for value in shape.coef)}; they must be '
                             'finite, and the first three not all 0')
    axis = normal / length
    return [ConvexPart('plane', (), pose(rotation_to_axis(axis), -offset / length * axis),
                       NO_VERTICES)]


# ---- attached objects -----------------------------------------------------------

def apply_attached_object(target: SceneTarget, message: Any) -> None:
    """
    Attach an object to a link, or detach it, by a moveit_msgs/AttachedCollisionObject.

    An object of the world with the same id is taken over: its shapes, if the message has none.
    REMOVE leaves the object where it is; without an id, all that the link holds, or all that are
    attached if no link is named.  Weight and posture of release are not used.

    Raises
    ------
    IkNodeError
        If it cannot be done: an unknown link or object, or a plane.

    """
    scene, id, operation = target.scene, message.object.id, _operation(message.object)
    what = f'the object {quote(id)}'
    if operation == 'MOVE':
        raise ParameterError(f'{what} is to be attached by MOVE; use ADD')
    link = target.link_of(message.link_name)
    if link is None and (message.link_name or operation != 'REMOVE'):
        raise ParameterError(f'{what} is to be attached to {quote(message.link_name)}, which is '
                             'not a link of the robot')
    if operation == 'REMOVE':
        for item in [*scene.objects.values()]:
            if item.id == id or not id and item.attached and link in (None, item.frame):
                _detach(target, item, link)
        if id and id not in scene:
            raise ParameterError(f'there is no object {quote(id)} to detach')
        return
    before = scene.objects.get(id)
    if message.object.primitives or message.object.meshes or message.object.planes:
        _put_at_link(target, message.object, link, operation == 'APPEND')
    T_frame_link = None
    if id in scene and scene.objects[id].frame != link:
        T_frame_link = inverse(target.link_pose(scene.objects[id].frame)) @ target.link_pose(link)
    names = [target.link_of(name) or name for name in message.touch_links]
    if operation == 'APPEND' and before is not None and before.attached:
        names += before.touch_links
    scene.attach(id, link, names, T_frame_link)
    target.told.add(id)


def _put_at_link(target: SceneTarget, message: Any, link: str, extend: bool) -> None:
    """Add or replace an object, in the frame of a link if its header names that."""
    before = target.scene.objects.get(message.id)
    T, parts = parts_of(message)
    _note_subframes(target, message)
    if before is not None and before.attached and extend:
        T_frame = inverse(target.link_pose(before.frame)) @ _frame_pose(target, message)
        _put(target.scene, message.id, parts, T_frame @ T, True, before.frame)
    elif target.link_of(message.header.frame_id) == link:
        _put(target.scene, message.id, parts, T, False, link)
    else:
        _put(target.scene, message.id, parts, _frame_pose(target, message) @ T, False)


def _detach(target: SceneTarget, item: SceneObject, link: str | None) -> None:
    if item.attached and link not in (None, item.frame):
        raise ParameterError(f'the object {quote(item.id)} is attached to {quote(item.frame)}, '
                             f'not to {quote(link)}')
    target.scene.detach(item.id, target.link_pose(item.frame))


# ---- whole scenes ---------------------------------------------------------------

def apply_planning_scene(target: SceneTarget, message: Any, robot_name: str) -> None:
    """
    Change a scene, or replace what came by messages, by a moveit_msgs/PlanningScene.

    Objects are detached first, then world objects are changed, then others are attached,
    and last the allowed collision matrix is applied.  Joint positions, frames and colours of the
    message are not used.

    Raises
    ------
    IkNodeError
        If a part of it cannot be kept: another robot, an octomap, paddings, an allowed collision
        matrix that is none, an object.

    """
    scene, state = target.scene, message.robot_state
    _check_scene(target, message, robot_name)
    attached = [each for each in sorted(target.told) if each in scene
                and scene.objects[each].attached]
    if not message.is_diff:
        for each in target.told & scene.objects.keys():
            scene.remove(each)
        scene.allow_links({})
    elif not state.is_diff and attached:
        for each in attached:
            scene.remove(each)
        target.notes.append(f'{", ".join(map(quote, attached))} attached before are gone: '
                            'robot_state.is_diff is false, so its attached objects are all')
    for each in state.attached_collision_objects:
        if _operation(each.object) == 'REMOVE':
            apply_attached_object(target, each)
    for each in message.world.collision_objects:
        apply_collision_object(target, each)
    for each in state.attached_collision_objects:
        if _operation(each.object) != 'REMOVE':
            apply_attached_object(target, each)
    matrix = message.allowed_collision_matrix
    if matrix.entry_names or matrix.default_entry_names:
        apply_matrix(target, matrix)


def _check_scene(target: SceneTarget, message: Any, robot_name: str) -> None:
    if message.robot_model_name not in ('', robot_name):
        raise ParameterError(f'it is for the robot {quote(message.robot_model_name)}, this one is '
                             f'{quote(robot_name)}')
    if message.world.octomap.octomap.data:
        raise ParameterError('it has an octomap, which is not read; send the points to '
                             '~/scene_points')
    for each in message.link_padding:
        if each.padding not in (0.0, target.paddings.get(each.link_name, 0.0)):
            raise ParameterError(f'it has a padding of {each.padding:g} m for '
                                 f'{quote(each.link_name)}; paddings are set by collision.padding '
                                 'and collision.link_padding')
    for each in message.link_scale:
        if each.scale != 1.0:
            raise ParameterError(f'it has a scale of {each.scale:g} for {quote(each.link_name)}; '
                                 'links are not scaled')
    added = [each.id for each in message.world.collision_objects if _operation(each) == 'ADD']
    twice = sorted({id for id in added if added.count(id) > 1}) if len({*added}) < len(added) \
        else []
    if twice:
        raise ParameterError(f'it adds {", ".join(map(quote, twice))} twice')


def apply_matrix(target: SceneTarget, matrix: Any) -> None:
    """
    Set what may touch, by a moveit_msgs/AllowedCollisionMatrix, in place of the matrix before.

    As in MoveIt an entry of a pair counts before the defaults of its names, and of two defaults
    both have to allow it.  Names that are neither links nor objects are left out, which a note
    says; so does one of links that stay unchecked though the matrix wants otherwise, since they
    are in contact by their build.
    """
    names = list(matrix.entry_names)
    table = _checked_table(matrix, names)
    defaults = dict(zip(matrix.default_entry_names, map(bool, matrix.default_entry_values)))
    links = {name: target.link_of(name) for name in (*names, *defaults)}
    known = {name: links[name] or name for name in links
             if links[name] is not None or name in target.scene}
    # Of two objects, False says nothing: they may not touch.
    are_links = np.array([links[name] is not None for name in names], dtype=bool)
    wanted = {frozenset((known[names[i]], known[names[j]])): bool(table[i, j])
              for i, j in np.argwhere(np.triu(table | np.outer(are_links, are_links), 1))
              if names[i] in known and names[j] in known and known[names[i]] != known[names[j]]}
    wanted |= _by_default(target, {known[name]: value for name, value in defaults.items()
                                   if name in known}, {known[name] for name in names
                                                       if name in known})
    unknown = [name for k, name in enumerate((*names, *defaults)) if name not in known
               and name != OCTOMAP_ID and (defaults.get(name) or k < len(names)
                                           and table[k].any())]
    if unknown:
        target.notes.append('the allowed collision matrix names what is neither a link nor an '
                            'object, which is left out: '
                            + ', '.join(map(quote, unknown[:SHOWN_NAMES]))
                            + ', ...' * (len(unknown) > SHOWN_NAMES))
    _allow_objects(target, wanted)
    _allow_links(target, wanted)


def _checked_table(matrix: Any, names: list[str]) -> np.ndarray:
    """Return the entries of a matrix, (N, N) bool; raise ParameterError if they are none."""
    rows = [list(row.enabled) for row in matrix.entry_values]
    if len({*names}) < len(names) or len(rows) != len(names) \
            or any(len(row) != len(names) for row in rows):
        raise ParameterError(f'the allowed collision matrix has {len(names)} names '
                             f'({len({*names})} different) and {len(rows)} rows; it must have a '
                             'row, and in each row a value, for each name')
    if len(matrix.default_entry_names) != len(matrix.default_entry_values):
        raise ParameterError(f'the allowed collision matrix has {len(matrix.default_entry_names)} '
                             f'names with a default and {len(matrix.default_entry_values)} '
                             'defaults; it must have as many')
    table = np.array(rows, dtype=bool).reshape(len(names), len(names))
    if not np.array_equal(table, table.T):
        k, other = np.argwhere(table != table.T)[0]
        raise ParameterError(f'the allowed collision matrix is not symmetric: {quote(names[k])} '
                             f'and {quote(names[other])}')
    return table


def _by_default(target: SceneTarget, defaults: dict[str, bool],
                named: set[str]) -> dict[frozenset[str], bool]:
    """Return which pairs may touch by the defaults of their names, but two of `named`."""
    allowing = [name for name, value in defaults.items() if value]
    others = [*target.links, *target.scene.objects]
    if len(allowing) * len(others) > MAX_DEFAULT_PAIRS:
        raise ParameterError(f'the allowed collision matrix allows {len(allowing)} names to touch '
                             f'all by default, among {len(others)}; name the pairs')
    return {frozenset((name, other)): True for name in allowing for other in others
            if name != other and defaults.get(other, True) and not {name, other} <= named}


def _allow_objects(target: SceneTarget, wanted: dict[frozenset[str], bool]) -> None:
    """Set what each object may touch."""
    allowed: dict[str, set[str]] = {id: set() for id in target.scene.objects}
    for pair in (pair for pair, value in wanted.items() if value):
        one, other = pair
        for name, partner in ((one, other), (other, one)):
            if name in allowed:
                allowed[name].add(partner)
    for id, others in allowed.items():
        if others != target.scene.objects[id].allowed:
            target.scene.allow(id, others)
            target.told.add(id)


def _allow_links(target: SceneTarget, wanted: dict[frozenset[str], bool]) -> None:
    """Set which links may touch each other, otherwise than the robot and its SRDF say."""
    other_than = {pair: value for pair, value in wanted.items()
                  if pair in target.unchecked and value != bool(target.unchecked[pair])}
    stay = [pair for pair, value in other_than.items()
            if not value and target.unchecked[pair] != DISABLED_REASON]
    changed = {pair: value for pair, value in other_than.items() if pair not in stay}
    if stay:
        target.notes.append('the allowed collision matrix wants links to be checked against each '
                            'other that cannot be: ' + _pairs_text(stay, target.unchecked))
    for value, words in ((True, 'not checked against each other'),
                         (False, 'checked against each other')):
        pairs = [pair for pair in changed if changed[pair] is value]
        if pairs:
            target.notes.append(f'by the allowed collision matrix these links are {words}: '
                                + _pairs_text(pairs))
    if changed != dict(target.scene.snapshot.link_pairs):
        target.scene.allow_links(changed)


def _pairs_text(pairs: list[frozenset[str]], reasons: dict[frozenset[str], str] | None = None
                ) -> str:
    """Return the first pairs in words, each with its reason."""
    texts = [' and '.join(map(quote, sorted(pair)))
             + (f' ({reasons[pair]})' if reasons else '') for pair in pairs[:SHOWN_NAMES]]
    return ', '.join(texts) + ', ...' * (len(pairs) > SHOWN_NAMES)


# ---- from a scene to messages ---------------------------------------------------

def fill_collision_object(message: Any, item: SceneObject, T: np.ndarray, frame: str,
                          geometry: bool = True) -> None:
    """Write an object at a pose (4, 4) in a frame into a moveit_msgs/CollisionObject."""
    message.id, message.header.frame_id = item.id, frame
    if not geometry:
        return
    fill_pose(message.pose, T)
    for part in item.parts:
        if part.kind == 'hull':
            message.meshes.append(_mesh_message(part.vertices))
            message.mesh_poses.append(_pose_message(part.T))
        elif part.kind == 'plane':
            message.planes.append(Plane(coef=[0.0, 0.0, 1.0, 0.0]))
            message.plane_poses.append(_pose_message(part.T))
        else:
            for shape, T_part in _primitive_messages(part):
                message.primitives.append(shape)
                message.primitive_poses.append(_pose_message(part.T @ T_part))


def _pose_message(T: np.ndarray) -> Pose:
    message = Pose()
    fill_pose(message, T)
    return message


def _primitive_messages(part: ConvexPart) -> list[tuple[SolidPrimitive, np.ndarray]]:
    """Return primitives and their poses (4, 4) in the part; a capsule has three."""
    if part.kind == 'box':
        return [(SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(part.size)), np.eye(4))]
    sphere = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[part.size[0]])
    if part.kind == 'sphere':
        return [(sphere, np.eye(4))]
    radius, length = part.size
    cylinder = SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[length, radius]), np.eye(4)
    if part.kind == 'cylinder':
        return [cylinder]
    ends = [pose(np.eye(3), np.array([0.0, 0.0, side * 0.5 * length])) for side in (-1.0, 1.0)]
    return [cylinder, *((sphere, T) for T in ends)]


def _mesh_message(vertices: np.ndarray) -> Mesh:
    corners = hull_triangles(vertices).reshape(-1, 3)
    return Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in corners.tolist()],
                triangles=[MeshTriangle(vertex_indices=[k, k + 1, k + 2])
                           for k in range(0, len(corners), 3)])


def fill_matrix(matrix: Any, entry: type, objects: Iterable[SceneObject],
                unchecked: dict[frozenset[str], str]) -> None:
    """
    Write which links and objects may touch into a moveit_msgs/AllowedCollisionMatrix.

    Parameters
    ----------
    entry : type
        moveit_msgs/AllowedCollisionEntry.
    objects : iterable of SceneObject
    unchecked : mapping of pair of links to reason
        As in :class:`SceneTarget`.

    """
    touching = {item.id: item.allowed for item in objects}
    links = sorted({link for pair in unchecked for link in pair})
    names = [*links, *touching]
    table = np.zeros((len(names), len(names)), dtype=bool)
    numbers = {name: k for k, name in enumerate(names)}
    for i, one in enumerate(links):
        for j, other in enumerate(links[:i]):
            table[i, j] = table[j, i] = bool(unchecked.get(frozenset((one, other)), 'rigid'))
    for id, others in touching.items():
        for other in others & numbers.keys():
            i, j = numbers[id], numbers[other]
            table[i, j] = table[j, i] = True
    matrix.entry_names = names
    matrix.entry_values = [entry(enabled=row) for row in table.tolist()]
