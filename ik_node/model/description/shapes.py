# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The visual and collision elements of the links of a URDF.

yourdfpy reads these, too, but needs trimesh for that, and opens any file that a URDF names; here
:mod:`ik_node.model.description.mesh_files` refuses files outside the packages, and boxes need no
trimesh.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from xml.etree.ElementTree import Element

import numpy as np

from ik_node.base.se3 import pose
from ik_node.model.description.elements import (
    local_name,
    numbers_of,
    placement,
    robot_elements,
    SHAPES_VERSION,
    version_of,
)
from ik_node.model.description.urdf import Tree

# For each geometry: the attributes that give its size, their number of values, their default.
SIZE_ATTRIBUTES = {
    'box': (('size', 3, None),),
    'cylinder': (('radius', 1, None), ('length', 1, None)),
    'sphere': (('radius', 1, None),),
    'capsule': (('radius', 1, None), ('length', 1, None)),
    'mesh': (('scale', 3, '1 1 1'),),
}
PRIMITIVE_KINDS = ('box', 'cylinder', 'sphere', 'capsule')


@dataclass(frozen=True, eq=False)
class Shape:
    """One visual or collision element of a link."""

    # 'box', 'cylinder', 'sphere', 'capsule' or 'mesh'; '' if it cannot be read, see `fault`
    kind: str
    # Box: x, y, z; cylinder (along its z axis): radius, length; sphere: radius; capsule (along its
    # z axis): radius, length of its cylinder, all in m; mesh: its scale along x, y, z.
    size: tuple[float, ...] = ()
    # (4, 4), pose in the link's frame
    T_link_shape: np.ndarray = field(default_factory=lambda: np.eye(4))
    uri: str = ''  # file name of a mesh, as written in the URDF
    rgba: tuple[float, ...] | None = None  # colour, 0 to 1; None where the URDF gives none
    fault: str = ''  # why the element cannot be read

    @property
    def extent(self) -> tuple[float, ...]:
        """Return the size along x, y and z (m); for a mesh its scale."""
        if self.kind in ('cylinder', 'capsule'):
            radius, length = self.size
            caps = 2.0 * radius if self.kind == 'capsule' else 0.0
            return 2.0 * radius, 2.0 * radius, length + caps
        return (2.0 * self.size[0],) * 3 if self.kind == 'sphere' else self.size

    @property
    def primitives(self) -> list[Shape]:
        """Return the cylinder and the two spheres of a capsule; else the shape itself."""
        if self.kind != 'capsule':
            return [self]
        radius, length = self.size
        return [replace(self, kind='cylinder'),
                *(replace(self, kind='sphere', size=(radius,), T_link_shape=self.T_link_shape
                          @ pose(np.eye(3), np.array([0.0, 0.0, 0.5 * end * length])))
                  for end in (-1.0, 1.0))]


def link_shapes(tree: Tree, element: str) -> dict[str, list[Shape]]:
    """
    Return the shapes of each link, in the order of the URDF.

    Parameters
    ----------
    element : str
        'visual' or 'collision'.

    """
    return _shapes_of(tree.source)[element]


@lru_cache(maxsize=1)  # several parts of a node ask for those of one robot
def _shapes_of(source: bytes) -> dict[str, dict[str, list[Shape]]]:
    robot, _ = robot_elements(source)
    colours = _colours(robot)
    kinds = [kind for kind in SIZE_ATTRIBUTES
             if kind != 'capsule' or version_of(robot) >= SHAPES_VERSION]
    return {element: {link.get('name'): [_shape(child, colours, kinds) for child in link
                                         if local_name(child) == element]
                      for link in robot if local_name(link) == 'link'}
            for element in ('visual', 'collision')}


def _shape(element: Element, colours: dict[str, tuple[float, ...]], kinds: list[str]) -> Shape:
    try:
        geometry = _child(element, 'geometry')
        form = None if geometry is None else next(iter(geometry), None)
        kind = 'nothing' if form is None else local_name(form)
        if kind not in kinds:
            raise ValueError(f'geometry is {kind!a}, expected one of ' + ', '.join(kinds))
        size = tuple(number for name, count, default in SIZE_ATTRIBUTES[kind]
                     for number in numbers_of(form.get(name, default), count, f'{kind} {name}'))
        if kind in PRIMITIVE_KINDS and min(size) <= 0.0 or 0.0 in size:
            raise ValueError(f'{kind} has the size {" ".join(map(str, size))}')
        uri = form.get('filename', '') if kind == 'mesh' else ''
        if kind == 'mesh' and not uri.strip():
            raise ValueError('mesh has no filename')
        return Shape(kind, size, placement(_child(element, 'origin')), uri.strip(),
                     _colour(element, colours))
    except ValueError as error:
        return Shape('', fault=f'its {error}')


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if local_name(child) == name), None)


def _colours(robot: Element) -> dict[str, tuple[float, ...]]:
    """Return the colours of named materials; the first definition of a name is used."""
    colours: dict[str, tuple[float, ...]] = {}
    for element in robot.iter():
        if local_name(element) == 'material' and element.get('name'):
            rgba = _rgba(element)
            if rgba is not None:
                colours.setdefault(element.get('name'), rgba)
    return colours


def _colour(element: Element, colours: dict[str, tuple[float, ...]]) -> tuple[float, ...] | None:
    material = _child(element, 'material')
    if material is None:
        return None
    return _rgba(material) or colours.get(material.get('name', ''))


def _rgba(material: Element) -> tuple[float, ...] | None:
    """Return the colour of a material, or None if it is missing or not valid."""
    colour = _child(material, 'color')
    try:
        rgba = numbers_of(None if colour is None else colour.get('rgba'), 4, 'colour')
    except ValueError:
        return None
    return tuple(min(max(part, 0.0), 1.0) for part in rgba)
