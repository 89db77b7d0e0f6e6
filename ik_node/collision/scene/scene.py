# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The scene: the objects around the arm and in its hand, for the collision check.

>>> scene = Scene('base_link')
>>> scene.add_plane('floor')
>>> scene.add_box('table', (1.0, 0.6, 0.04), pose(np.eye(3), (0.6, 0.0, 0.2)))
>>> scene.add_cylinder('cup', (0.04, 0.1), T_base_cup)
>>> scene.attach('cup', 'hand', touch_links=('left_finger', 'right_finger'),
...              T_frame_link=T_base_hand)

A call that is refused changes nothing.  Each change makes a new snapshot, which never changes:
a check that holds one is not disturbed by later calls.  Snapshots may be read from any thread;
calls that change the scene come from one thread at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ik_node.base.checks import finite_array
from ik_node.base.errors import ParameterError
from ik_node.base.se3 import inverse, pose
from ik_node.base.text import quote, shown
from ik_node.collision.bodies.part_checks import (
    checked_padding,
    checked_part_pose,
    checked_parts,
    MAX_PART_SIZE_M,
    NO_VERTICES,
)
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.bodies.point_boxes import boxes_of_points
from ik_node.collision.meshes.mesh_parts import hulls_of_arrays, hulls_of_file
from ik_node.kinematics.arguments import did_you_mean

MAX_SCENE_PARTS = 10_000
MAX_ID_LENGTH = 200
SHOWN_OBJECTS = 8  # in the repr of a scene

Mesh = str | Path | tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class SceneObject:
    """One object of the scene."""

    id: str
    """Its name."""
    frame: str
    """The link in whose frame it is, and with which it moves."""
    T: np.ndarray
    """(4, 4), pose of the object in that frame."""
    parts: tuple[ConvexPart, ...]
    """In the frame of the object."""
    padding: float
    """Added all round, m."""
    touch_links: frozenset[str] | None = None
    """Of an attached object: links and objects that it may touch.  None: not attached."""
    allowed: frozenset[str] = frozenset()
    """Other links and objects that it may touch, attached or not, see :meth:`Scene.allow`."""

    @property
    def attached(self) -> bool:
        """Return whether the object is held by its link, as a part of it."""
        return self.touch_links is not None

    @property
    def body(self) -> Body:
        """Return the object with its parts in the frame of its link."""
        return Body(self.id, self.frame, tuple(replace(part, T=_read_only(self.T @ part.T))
                                               for part in self.parts), self.padding)


@dataclass(frozen=True, eq=False)
class SceneSnapshot:
    """A scene at one moment; it never changes."""

    version: int
    """Number of changes of the scene before it."""
    objects: Mapping[str, SceneObject]
    """By id, in the order in which they were added."""
    bodies: tuple[Body, ...]
    """One for each object, in the same order."""
    link_pairs: Mapping[frozenset[str], bool] = field(default_factory=dict)
    """By two links, which may touch each other, otherwise than the robot and its SRDF say."""

    @property
    def touch_links(self) -> dict[str, frozenset[str]]:
        """Return the links and objects that each object may touch, of those that may any."""
        return {item.id: item.allowed | (item.touch_links or frozenset())
                for item in self.objects.values() if item.attached or item.allowed}


class Scene:
    """
    The objects around the arm and in its hand, by their ids.

    Every method that adds an object replaces the one with the same id.  All of them take a
    pose `T` (4, 4) of the object in `frame` (None: the identity), the name of a link (''
    is the base link), and a `padding` (m) that is added all round.  They raise
    ParameterError, and change nothing, if the id is empty, a size is not positive and
    finite, the pose is not a rotation and a position, the frame is not known, or the scene
    would have more than MAX_SCENE_PARTS parts.

    Parameters
    ----------
    base_link : str
        Stands for '' as a frame.
    links : iterable of str
        The links of the robot.  Other frames are refused; if empty, none is.
    tools : iterable of str
        Names of tools, which objects may touch as they may touch links, and no object may have.

    """

    def __init__(self, base_link: str = '', links: Iterable[str] = (),
                 tools: Iterable[str] = ()) -> None:
        self._base_link = base_link
        self._links, self._tools = tuple(links), tuple(tools)
        self._items: dict[str, SceneObject] = {}
        self._bodies: dict[str, Body] = {}
        self._link_pairs: Mapping[frozenset[str], bool] = {}
        self._parts = self._version = 0
        self._snapshot: SceneSnapshot | None = None  # of the scene as it is, once it is asked for
        if self._links and base_link not in self._links:
            raise ParameterError(f'the base link {quote(base_link)} is not one of the links'
                                 + did_you_mean(base_link, self._links))

    @property
    def base_link(self) -> str:
        """Return the link that stands for '' as a frame."""
        return self._base_link

    @property
    def snapshot(self) -> SceneSnapshot:
        """Return the scene as it is now."""
        if self._snapshot is None:
            self._snapshot = SceneSnapshot(self._version, MappingProxyType(dict(self._items)),
                                           tuple(self._bodies[id] for id in self._items),
                                           self._link_pairs)
        return self._snapshot

    @property
    def version(self) -> int:
        """Return the number of changes; the same number means the same scene."""
        return self._version

    @property
    def part_count(self) -> int:
        """Return the number of parts of all objects."""
        return self._parts

    @property
    def objects(self) -> Mapping[str, SceneObject]:
        """Return the objects by id, as they are at any time."""
        return MappingProxyType(self._items)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """Return a body for each object, its parts in the frame of its link."""
        return self.snapshot.bodies

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.objects)

    def __contains__(self, id: object) -> bool:
        """Return whether there is an object with this id."""
        return id in self.objects

    def __repr__(self) -> str:
        """Return the number of parts, and the first objects, in one line."""
        items = list(self.objects.values())
        words = [quote(item.id) + (f' at {quote(item.frame)}' if item.attached else '')
                 for item in items[:SHOWN_OBJECTS]] + ['...'] * (len(items) > SHOWN_OBJECTS)
        return (f'Scene({len(items)} object{"s" * (len(items) != 1)}, {self._parts} '
                f'part{"s" * (self._parts != 1)}, version {self.version}'
                + (f': {", ".join(words)}' if words else '') + ')')

    def copy(self) -> Scene:
        """Return another scene with the same objects, which is changed by itself."""
        other = object.__new__(Scene)
        other.__dict__.update(self.__dict__)
        other._items, other._bodies = dict(self._items), dict(self._bodies)
        return other

    # ---- adding -------------------------------------------------------------

    def add_box(self, id: str, size: Sequence[float], T: np.ndarray | None = None,
                frame: str = '', padding: float = 0.0) -> None:
        """Add a box of `size` x, y, z (m, whole lengths) about the origin of its frame."""
        self._add_primitive(id, 'box', size, T, frame, padding)

    def add_cylinder(self, id: str, size: Sequence[float], T: np.ndarray | None = None,
                     frame: str = '', padding: float = 0.0) -> None:
        """Add a cylinder of `size` radius, length (m) along the z axis of its frame."""
        self._add_primitive(id, 'cylinder', size, T, frame, padding)

    def add_sphere(self, id: str, radius: float, T: np.ndarray | None = None,
                   frame: str = '', padding: float = 0.0) -> None:
        """Add a sphere of a radius (m)."""
        self._add_primitive(id, 'sphere', (radius,), T, frame, padding)

    def add_capsule(self, id: str, size: Sequence[float], T: np.ndarray | None = None,
                    frame: str = '', padding: float = 0.0) -> None:
        """Add a capsule of `size` radius, length of its cylinder (m) along its z axis."""
        self._add_primitive(id, 'capsule', size, T, frame, padding)

    def add_plane(self, id: str, T: np.ndarray | None = None, frame: str = '',
                  padding: float = 0.0) -> None:
        """Add a half-space: all below z = 0 of its frame is solid, such as the ground."""
        self._add_primitive(id, 'plane', (), T, frame, padding)

    def add_mesh(self, id: str, mesh: Mesh, scale: float | Sequence[float] = 1.0,
                 T: np.ndarray | None = None, frame: str = '', padding: float = 0.0) -> None:
        """
        Add a mesh as the convex hulls that contain it.

        Parameters
        ----------
        mesh : path, or tuple of vertices (v, 3) and faces (m, 3)
            A file that :func:`ik_node.collision.meshes.mesh_parts.hulls_of_file` reads, or arrays.
        scale : float or three floats
            From the unit of the mesh to m; negative ones mirror it.

        """
        factors = _scale(scale, f'the scale of the mesh of {_named(id)}')
        if isinstance(mesh, (str, Path)):
            hulls = hulls_of_file(Path(mesh).expanduser(), factors)
        elif isinstance(mesh, (tuple, list)) and len(mesh) == 2:
            hulls = hulls_of_arrays(*mesh, factors)
        else:
            raise ParameterError(f'the mesh of {_named(id)} is {shown(mesh, 80)}; give the path '
                                 'of a file, or vertices and faces')
        self.add_parts(id, [ConvexPart('hull', (), np.eye(4), vertices)
                            for vertices in hulls.vertices], T, frame, padding)

    def add_points(self, id: str, points: np.ndarray, voxel: float,
                   T: np.ndarray | None = None, frame: str = '', padding: float = 0.0) -> None:
        """
        Add points, such as a depth camera sends, as the boxes that contain them.

        Parameters
        ----------
        points : (n, 3) array
            In the object's frame, m.
        voxel : float
            Edge of the cubes that are solid where a point is, m.  Cubes beside each other
            are merged into boxes, see :mod:`ik_node.collision.bodies.point_boxes`.
        padding : float
            For points that stand for balls, their radius, m.

        """
        what = _named(id)
        points = finite_array(points, (None, 3), f'the points of {what}')
        if not len(points):
            raise ParameterError(f'{what} has no points; remove it, or give at least one')
        edge = float(finite_array(voxel, (), f'the voxel size of {what}'))
        if not 0.0 < edge <= MAX_PART_SIZE_M:
            raise ParameterError(f'the voxel size of {what} is {edge:g}; it must be above 0 and '
                                 f'at most {MAX_PART_SIZE_M:g} m')
        lower, upper = boxes_of_points(points, edge)
        self._check_count(id, len(lower), f'; a voxel above {edge:g} m gives fewer')
        self.add_parts(id, [ConvexPart('box', tuple((high - low).tolist()),
                                       pose(np.eye(3), 0.5 * (low + high)), NO_VERTICES)
                            for low, high in zip(lower, upper)], T, frame, padding)

    def add_parts(self, id: str, parts: Sequence[ConvexPart], T: np.ndarray | None = None,
                  frame: str = '', padding: float = 0.0) -> None:
        """Add an object of one or more convex parts, whose poses are in the object's frame."""
        what = _named(id)
        self._check_count(id, len(parts))
        if not parts:
            raise ParameterError(f'{what} has no parts; remove it, or give at least one')
        if id in self._links:
            raise ParameterError(f'{what} has the name of a link of the robot; give another id')
        if id in self._tools:
            raise ParameterError(f'{what} has the name of a tool; give another id')
        self._replace(SceneObject(
            id, self._frame(frame, what), checked_part_pose(T, what),
            checked_parts(parts, what), checked_padding(padding, what)))

    def is_reserved(self, id: str) -> bool:
        """Return whether an object cannot have this id: a link or a tool has it."""
        return id in self._links or id in self._tools

    # ---- changing -----------------------------------------------------------

    def remove(self, id: str) -> None:
        """Remove an object, attached or not; raise ParameterError if there is none."""
        self._get(id)
        self._forget(id)
        self._changed()

    def clear(self) -> None:
        """Remove all objects, the attached ones, too."""
        if self._items:
            for id in [*self._items]:
                self._forget(id)
            self._changed()

    def restore(self, snapshot: SceneSnapshot) -> None:
        """Restore the objects of a snapshot as a new version."""
        for id in [id for id in self._items if id not in snapshot.objects]:
            self._forget(id)
        for item in snapshot.objects.values():
            self._put(item)
        self._items = dict(snapshot.objects)  # in their order
        self._link_pairs = snapshot.link_pairs
        self._changed()

    def move(self, id: str, T: np.ndarray, frame: str = '') -> None:
        """
        Set the pose `T` (4, 4) of an object in a frame.

        Raises
        ------
        ParameterError
            If there is no such object, it is attached, or the pose or the frame is not
            allowed.

        """
        item, what = self._get(id), _named(id)
        if item.attached:
            raise ParameterError(f'{what} is attached to {quote(item.frame)} and moves with it; '
                                 'detach it first')
        self._replace(replace(item, T=checked_part_pose(T, what),
                              frame=self._frame(frame, what)))

    def attach(self, id: str, link: str, touch_links: Iterable[str] = (),
               T_frame_link: np.ndarray | None = None) -> None:
        """
        Attach an object to a link: it moves with it and counts as a part of it.

        Parameters
        ----------
        link : str
            A link of the robot.
        touch_links : iterable of str
            Links, and other objects, that it may touch; `link` itself is always one.
        T_frame_link : (4, 4) array, optional
            Pose of the link, at the moment, in the present frame of the object.  Not
            needed for an object that is in the frame of the link already.

        Raises
        ------
        ParameterError
            If there is no such object or link, `link` names an object, the object has a
            plane, or the pose is needed and missing.

        """
        item, what = self._get(id), _named(id)
        if link in self.objects:
            raise ParameterError(f'{what} cannot be attached to {quote(link)}, which is an '
                                 'object itself; attach it to a link')
        if any(part.kind == 'plane' for part in item.parts):
            raise ParameterError(f'{what} has a plane, which has no end, so no link can hold it')
        link = self._frame(link, what)
        T = item.T
        if T_frame_link is not None:
            T = inverse(checked_part_pose(T_frame_link, f'the link {quote(link)}')) @ T
        elif link != item.frame:
            raise ParameterError(f'{what} is in the frame {quote(item.frame)}, so its pose in '
                                 f'{quote(link)} depends on the posture; give T_frame_link, the '
                                 'pose of the link in that frame')
        self._replace(replace(item, frame=link, T=_read_only(T),
                              touch_links=self._touch_links(touch_links, what) | {link}))

    def detach(self, id: str, T_frame_link: np.ndarray, frame: str = '') -> None:
        """
        Leave an attached object where it is.

        Parameters
        ----------
        T_frame_link : (4, 4) array
            Pose of the link that holds it, at the moment, in `frame`.
        frame : str
            The link in whose frame it stays.

        Raises
        ------
        ParameterError
            If there is no such object, or it is not attached.

        """
        item, what = self._get(id), _named(id)
        if not item.attached:
            attached = [quote(each.id) for each in self.objects.values() if each.attached]
            raise ParameterError(f'{what} is not attached; attached are: '
                                 + (', '.join(attached) or 'none'))
        T = checked_part_pose(T_frame_link, f'the link {quote(item.frame)}') @ item.T
        self._replace(replace(item, frame=self._frame(frame, what), T=_read_only(T),
                              touch_links=None))

    def allow(self, id: str, names: Iterable[str]) -> None:
        """
        Set which links and objects an object may touch, besides the links of its attachment.

        Parameters
        ----------
        names : iterable of str
            In place of those that were given before; an object that is replaced has none.

        Raises
        ------
        ParameterError
            If there is no such object, or a name is neither a link nor an object.

        """
        item, what = self._get(id), _named(id)
        self._replace(replace(item, allowed=self._touch_links(names, what)))

    def allow_links(self, pairs: Mapping[frozenset[str], bool]) -> None:
        """
        Set which links may touch each other, otherwise than the robot and its SRDF say.

        Parameters
        ----------
        pairs : mapping of frozenset of two links to bool
            Whether they may; in place of those that were given before.

        Raises
        ------
        ParameterError
            If a name is not a link of the robot.

        """
        for name in sorted({name for pair in pairs for name in pair}):
            if self._links and name not in self._links:
                raise ParameterError(f'{quote(name)} is not a link of the robot'
                                     + did_you_mean(name, self._links))
        self._link_pairs = MappingProxyType(dict(pairs))
        self._changed()

    # ---- inside -------------------------------------------------------------

    def _add_primitive(self, id: str, kind: str, size: Sequence[float], T: np.ndarray | None,
                       frame: str, padding: float) -> None:
        self.add_parts(id, [ConvexPart(kind, size, np.eye(4), NO_VERTICES)], T, frame, padding)

    def _get(self, id: str) -> SceneObject:
        if id not in self.objects:
            raise ParameterError(f'there is no object {quote(id)} in the scene' + (
                did_you_mean(id, tuple(self.objects)) if self.objects else '; it is empty'))
        return self.objects[id]

    def _frame(self, frame: str, what: str) -> str:
        """Return the link that a frame names."""
        if not isinstance(frame, str):
            raise ParameterError(f'the frame of {what} is {shown(frame, 80)}; it must be the '
                                 'name of a link')
        if frame and self._links and frame not in self._links:
            raise ParameterError(f'the frame {quote(frame)} of {what} is not a link of the robot'
                                 + did_you_mean(frame, self._links))
        return frame or self._base_link

    def _touch_links(self, names: Iterable[str], what: str) -> frozenset[str]:
        if isinstance(names, str):
            raise ParameterError(f'the touch links of {what} are given as a sequence of names, '
                                 f'got the string {quote(names)}')
        known = (*self._links, *self._tools, *self.objects)
        for name in (names := tuple(names)):
            if not isinstance(name, str) or self._links and name not in known:
                raise ParameterError(f'{what} may touch {quote(name)}, which is neither a link '
                                     'nor an object' + (' nor a tool' if self._tools else '')
                                     + did_you_mean(name, known))
        return frozenset(names)

    def _check_count(self, id: str, count: int, hint: str = '') -> None:
        """Raise ParameterError if the scene would have too many parts with this object."""
        others = self._parts - (len(self._items[id].parts) if id in self._items else 0)
        if others + count > MAX_SCENE_PARTS:
            raise ParameterError(f'{_named(id)} has {count:,} parts; with the {others:,} of the '
                                 f'other objects that is more than {MAX_SCENE_PARTS:,}{hint}')

    def _replace(self, item: SceneObject) -> None:
        self._put(item)
        self._changed()

    def _put(self, item: SceneObject) -> None:
        """Add or replace an object; the body of one that did not change is kept."""
        before = self._items.get(item.id)
        if before is not item:
            self._parts += len(item.parts) - (len(before.parts) if before else 0)
            self._items[item.id], self._bodies[item.id] = item, item.body

    def _forget(self, id: str) -> None:
        self._parts -= len(self._items.pop(id).parts)
        del self._bodies[id]

    def _changed(self) -> None:
        self._version += 1
        self._snapshot = None


def _named(id: str) -> str:
    """Return how sentences name an object; raise ParameterError if the id cannot be one."""
    if not isinstance(id, str) or not 0 < len(id) <= MAX_ID_LENGTH or not id.isprintable():
        raise ParameterError(f'the id of an object is {shown(id, 80)}; it must be a text of 1 '
                             f'to {MAX_ID_LENGTH} printable characters')
    return f'the object {quote(id)}'


def _scale(scale: float | Sequence[float], what: str) -> tuple[float, float, float]:
    """Return the factors along x, y, z."""
    factors = finite_array((scale,) * 3 if isinstance(scale, (int, float)) else scale,
                           (3,), what)
    if not factors.all():
        raise ParameterError(f'{what} is {" ".join(f"{factor:g}" for factor in factors)}; no '
                             'factor may be 0')
    return tuple(factors.tolist())


def _read_only(T: np.ndarray) -> np.ndarray:
    T.setflags(write=False)
    return T
