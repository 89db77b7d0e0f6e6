# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The visual and collision elements of the links of a URDF.

yourdfpy reads these, too, but needs trimesh for that, and opens any file that a URDF names; here
:mod:`ik_node.model.mesh_files` refuses files outside the packages, and boxes need no trimesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from ik_node.model.urdf import local_name, MAX_MAGNITUDE, read_elements, Tree
from ik_node.se3 import pose, rotation_from_rpy

# For each geometry: the attributes that give its size, their number of values, their default.
SIZE_ATTRIBUTES = {
    'box': (('size', 3, None),),
    'cylinder': (('radius', 1, None), ('length', 1, None)),
    'sphere': (('radius', 1, None),),
    'mesh': (('scale', 3, '1 1 1'),),
}
PRIMITIVE_KINDS = ('box', 'cylinder', 'sphere')


@dataclass(frozen=True)
class Shape:
    """
    One visual or collision element of a link.

    Attributes
    ----------
    kind : str
        'box', 'cylinder', 'sphere' or 'mesh'; '' if it cannot be drawn, see `fault`.
    size : tuple of float
        Box: x, y, z; cylinder (along its z axis): radius, length; sphere: radius, all
        in m; mesh: its scale along x, y, z.
    xyz, rpy : tuple of float
        Pose in the link's frame, m and rad.
    uri : str
        File name of a mesh, as written in the URDF.
    rgba : tuple of float or None
        Colour, 0 to 1; None where the URDF gives none.
    fault : str
        Why the element cannot be drawn.

    """

    kind: str
    size: tuple[float, ...] = ()
    xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)
    uri: str = ''
    rgba: tuple[float, ...] | None = None
    fault: str = ''

    @property
    def T_link_shape(self) -> np.ndarray:
        """Return the pose (4, 4) in the link's frame."""
        return pose(rotation_from_rpy(*self.rpy), np.array(self.xyz))

    @property
    def extent(self) -> tuple[float, ...]:
        """Return the size along x, y and z (m); for a mesh its scale."""
        if self.kind == 'cylinder':
            radius, length = self.size
            return 2.0 * radius, 2.0 * radius, length
        return (2.0 * self.size[0],) * 3 if self.kind == 'sphere' else self.size


def link_shapes(tree: Tree, element: str) -> dict[str, list[Shape]]:
    """
    Return the shapes of each link, in the order of the URDF.

    Parameters
    ----------
    element : str
        'visual' or 'collision'.

    """
    robot = read_elements(tree.source)
    colours = _colours(robot)
    return {link.get('name'): [_shape(child, colours) for child in link
                               if local_name(child) == element]
            for link in robot if local_name(link) == 'link'}


def _shape(element: Element, colours: dict[str, tuple[float, ...]]) -> Shape:
    try:
        origin, geometry = _child(element, 'origin'), _child(element, 'geometry')
        form = None if geometry is None else next(iter(geometry), None)
        kind = 'nothing' if form is None else local_name(form)
        if kind not in SIZE_ATTRIBUTES:
            raise ValueError(f'its geometry is {kind!a}, expected one of '
                             + ', '.join(SIZE_ATTRIBUTES))
        size = tuple(number for name, count, default in SIZE_ATTRIBUTES[kind]
                     for number in _numbers(form.get(name, default), count, f'{kind} {name}'))
        if kind in PRIMITIVE_KINDS and min(size) <= 0.0 or 0.0 in size:
            raise ValueError(f'its {kind} has the size {" ".join(map(str, size))}')
        uri = form.get('filename', '') if kind == 'mesh' else ''
        if kind == 'mesh' and not uri.strip():
            raise ValueError('its mesh has no filename')
        xyz, rpy = (((0.0,) * 3,) * 2 if origin is None else
                    (_numbers(origin.get(name, '0 0 0'), 3, name) for name in ('xyz', 'rpy')))
        return Shape(kind, size, xyz, rpy, uri.strip(), _colour(element, colours))
    except ValueError as error:
        return Shape('', fault=str(error))


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if local_name(child) == name), None)


def _numbers(text: str | None, count: int, what: str) -> tuple[float, ...]:
    """Return `count` numbers; raise ValueError with a sentence if there are not as many."""
    words = (text or '').split()
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(abs(number) <= MAX_MAGNITUDE for number in numbers):
        raise ValueError(f'its {what} needs {count} finite number{"s" * (count > 1)}, got '
                         f'{(text or "")[:60]!a}')
    return numbers


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
        rgba = _numbers(None if colour is None else colour.get('rgba'), 4, 'colour')
    except ValueError:
        return None
    return tuple(min(max(part, 0.0), 1.0) for part in rgba)
