# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The bodies of all links of a URDF, for the collision check.

A link's body is the union of its collision elements; where it has none, of its visual
elements, and the result says so.  Boxes, cylinders and spheres are exact.  A mesh becomes a few
convex hulls that contain it (:mod:`ik_node.collision.meshes.convex`).  A link whose geometry
cannot be read is listed as not checked, with the reason: it is never taken for free without a
word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.base.text import quote
from ik_node.collision.bodies.part_checks import checked_padding, NO_VERTICES
from ik_node.collision.bodies.parts import Body, ConvexPart
from ik_node.collision.meshes.mesh_parts import hulls_of_file
from ik_node.kinematics.arguments import did_you_mean
from ik_node.kinematics.arm import Arm
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.model.description.mesh_files import mesh_search, Resolve
from ik_node.model.description.shapes import link_shapes, Shape
from ik_node.model.description.urdf import Tree

MAX_NAMED_LINKS = 5
CHECK_OFF_TEXT = 'no link is checked for collisions: collision.check is false'


@dataclass(frozen=True)
class Unchecked:
    """The links that are not checked, wholly or in part; false if there are none."""

    faults: Mapping[str, str]  # by link, why
    links: int                 # how many links have geometry

    def __bool__(self) -> bool:
        """Return whether less is checked than a reader would believe."""
        return bool(self.faults) or not self.links

    @property
    def brief(self) -> str:
        """Return how many they are; '' if there are none."""
        if not self.links:
            return 'no link has geometry, so none is checked for collisions'
        if not self.faults:
            return ''
        return f'{len(self.faults)} of {self.links} links ' \
               f'{"is" if len(self.faults) == 1 else "are"} not checked'

    def __str__(self) -> str:
        """Return how many they are, which, and why the first of them is; '' if there are none."""
        if not (self.links and self.faults):
            return self.brief
        more = len(self.faults) - MAX_NAMED_LINKS
        return (f'{self.brief}: {", ".join(map(quote, [*self.faults][:MAX_NAMED_LINKS]))}'
                + (f' and {more} more' if more > 0 else '')
                + f', {"the first " * (len(self.faults) > 1)}because '
                + next(iter(self.faults.values())))


ALL_CHECKED = Unchecked({}, 1)


def links_with_geometry(tree: Tree) -> set[str]:
    """Return the links that have collision elements, or visual ones, in the URDF."""
    return {link for element in ('collision', 'visual')
            for link, shapes in link_shapes(tree, element).items() if shapes}


TOLD_GROWTH_M = 1e-4  # a hull that was enlarged by more is mentioned


@dataclass(frozen=True, eq=False)
class ArmBodies:
    """The bodies of all links of a URDF, and what they were made from."""

    bodies: tuple[Body, ...]
    """One for each link with geometry, by the name of the link and in its frame, in the order of
    the URDF."""
    from_collision: tuple[str, ...]
    """Links whose bodies come from collision elements."""
    from_visual: tuple[str, ...]
    """Links whose bodies come from visual elements."""
    without_geometry: tuple[str, ...]
    """Links that have neither, such as frames."""
    faults: dict[str, str]
    """By link, for each link of which an element could not be read, why not.  What could be read
    of it is in `bodies`."""
    notes: tuple[str, ...]
    """What a user may want to know besides, a sentence each."""

    @property
    def not_checked(self) -> dict[str, str]:
        """Return for each link that is not checked, or only in part, a sentence that says why."""
        checked = {body.name for body in self.bodies}
        return {link: f'the link {quote(link)} is not checked for collisions'
                      f'{", or only in part" * (link in checked)}: {fault}'
                for link, fault in self.faults.items()}

    @property
    def unchecked(self) -> Unchecked:
        """Return the same in one sentence."""
        return Unchecked(self.faults, len({body.name for body in self.bodies}
                                          | self.faults.keys()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return a sentence for each assumption and for each link that is not checked."""
        visual = () if not self.from_visual else (
            'without collision elements, these links are checked by their visual ones: '
            + ', '.join(map(quote, self.from_visual)),)
        return (*self.not_checked.values(), *visual, *self.notes)

    def __repr__(self) -> str:
        """Return the number of links, of parts and of links not checked in one line."""
        parts = sum(len(body.parts) for body in self.bodies)
        missing = f', not checked: {", ".join(map(quote, self.faults))}' \
            if self.faults else ''
        return (f'ArmBodies({len(self.bodies)} links with {parts} parts, '
                f'{len(self.without_geometry)} without geometry{missing})')


def arm_bodies(robot: Tree | Arm | KinematicTree, resolve: Resolve | None = None,
               padding: float | Mapping[str, float] = 0.0, strict: bool = False) -> ArmBodies:
    """
    Return the bodies of all links of a URDF: of the arm, its base, hands and all else.

    Parameters
    ----------
    robot : Tree, Arm or KinematicTree
    resolve : callable, optional
        Finds the file of a mesh, as :func:`ik_node.model.description.mesh_files.resolve` does;
        default: :func:`ik_node.model.description.mesh_files.mesh_search`.
    padding : float, or mapping of link name to float
        Added all round each link, m; links that the mapping does not name get none.
    strict : bool
        Whether geometry that cannot be read is an error.

    Raises
    ------
    UrdfError
        With `strict`, if the geometry of a link cannot be read.
    ParameterError
        If a padding is negative or not finite, or names no link.

    """
    tree = robot if isinstance(robot, Tree) else robot.tree
    paddings = _paddings(tree, padding)
    collision, visual = link_shapes(tree, 'collision'), link_shapes(tree, 'visual')
    meshes = _Meshes(resolve or mesh_search(tree))
    bodies: list[Body] = []
    sources: dict[str, list[str]] = {'collision': [], 'visual': [], '': []}
    faults: dict[str, str] = {}
    for link in tree.links:
        source = 'collision' if collision[link] else 'visual' if visual[link] else ''
        sources[source].append(link)
        parts: list[ConvexPart] = []
        unread: dict[str, None] = {}
        for shape in {'collision': collision, 'visual': visual}[source][link] if source else ():
            try:
                parts += meshes.parts(shape)
            except ParameterError as error:
                unread[str(error)] = None
        if parts:
            bodies.append(Body(link, link, tuple(parts), paddings[link]))
        if unread:
            faults[link] = '; '.join(unread)
    made = ArmBodies(tuple(bodies), tuple(sources['collision']), tuple(sources['visual']),
                     tuple(sources['']), faults, meshes.notes())
    if strict and faults:
        raise UrdfError('; '.join(made.not_checked.values()))
    return made


class _Meshes:
    """The parts of shapes; each mesh is read once."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._known: dict[tuple[str, tuple[float, ...]], tuple[np.ndarray, ...]] = {}
        self.growth: dict[str, float] = {}

    def parts(self, shape: Shape) -> list[ConvexPart]:
        """Return the convex parts of a shape in the frame of its link."""
        if shape.fault:
            raise ParameterError(shape.fault)
        T = shape.T_link_shape
        T.setflags(write=False)
        if shape.kind != 'mesh':
            return [ConvexPart(shape.kind, shape.size, T, NO_VERTICES)]
        key = shape.uri, shape.size
        if key not in self._known:
            self._known[key] = self._hulls(shape)
        return [ConvexPart('hull', (), T, vertices) for vertices in self._known[key]]

    def notes(self) -> tuple[str, ...]:
        """Return a sentence about the hulls that are larger than their meshes, if any are."""
        if not self.growth:
            return ()
        return ('reduced to fewer vertices, the hulls of these meshes are larger in places: '
                + ', '.join(f'{quote(uri, 300)} by {1e3 * grown:.1f} mm'
                            for uri, grown in self.growth.items()),)

    def _hulls(self, shape: Shape) -> tuple[np.ndarray, ...]:
        path, fault = self._resolve(shape.uri)
        if path is None:
            raise ParameterError(fault)
        hulls = hulls_of_file(path, shape.size)
        if hulls.grown > TOLD_GROWTH_M:
            self.growth[shape.uri] = hulls.grown
        for vertices in hulls.vertices:
            vertices.setflags(write=False)
        return hulls.vertices


def _paddings(tree: Tree, padding: float | Mapping[str, float]) -> dict[str, float]:
    """Return the padding of each link, m."""
    by_link = padding if isinstance(padding, Mapping) else dict.fromkeys(tree.links, padding)
    for link in by_link:
        if link not in tree.links:
            raise ParameterError(f'the padding names the link {quote(link)}, which is not in the '
                                 'URDF' + did_you_mean(link, tree.links))
    return {link: checked_padding(by_link.get(link, 0.0), f'the link {quote(link)}')
            for link in tree.links}
