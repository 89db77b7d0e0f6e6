# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The shapes by which a URDF draws its links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lxml import etree
import numpy as np

from ik_node.errors import quote
from ik_node.model.urdf import ABSURD, Tree
from ik_node.se3 import pose, rotation_from_rpy


class Shape(str, Enum):
    """What URDF knows."""

    BOX = 'box'
    CYLINDER = 'cylinder'
    SPHERE = 'sphere'
    MESH = 'mesh'


@dataclass(frozen=True, eq=False)
class Visual:
    """
    One shape of a link.

    Attributes
    ----------
    T_link_visual : (4, 4) array
        Pose of its middle, or of the mesh's origin, m.
    size : (3,) array
        Extent along its x, y, z, m, the axis of a cylinder along z; of a mesh the
        factors by which it is scaled.
    mesh : str
        Its file as the URDF names it; empty for the other shapes.

    """

    link: str
    shape: Shape
    T_link_visual: np.ndarray
    size: np.ndarray
    mesh: str = ''


def read_visuals(tree: Tree) -> tuple[list[Visual], list[str]]:
    """Return the shapes of a robot, and notes on those that cannot be drawn."""
    robot = etree.fromstring(tree.source, etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True))
    visuals, notes = [], []
    for link in robot.iterfind('link'):
        for element in link.iterfind('visual'):
            try:
                visuals.append(_visual(link.get('name'), element))
            except ValueError as error:
                notes.append(f'a visual of the link {quote(link.get("name"))} is not drawn: '
                             f'{error}')
    return visuals, notes


def _visual(link: str, element: etree._Element) -> Visual:
    """Return the shape of a <visual>; a ValueError says what is wrong with it."""
    origin, shapes = element.find('origin'), element.find('geometry')
    T_link_visual = np.eye(4)
    if origin is not None:
        T_link_visual = pose(rotation_from_rpy(*_numbers(origin, 'rpy', '0 0 0')),
                             _numbers(origin, 'xyz', '0 0 0'))
    geometry = None if shapes is None else next(shapes.iterchildren('*'), None)
    if geometry is None:
        raise ValueError('it has no geometry')
    mesh = ''
    if geometry.tag == Shape.BOX:
        size = _numbers(geometry, 'size')
    elif geometry.tag == Shape.CYLINDER:
        (radius,), (length,) = _numbers(geometry, 'radius', n=1), _numbers(geometry, 'length', n=1)
        size = np.array([2.0 * radius, 2.0 * radius, length])
    elif geometry.tag == Shape.SPHERE:
        size = np.full(3, 2.0 * _numbers(geometry, 'radius', n=1)[0])
    elif geometry.tag == Shape.MESH:
        size, mesh = _numbers(geometry, 'scale', '1 1 1'), geometry.get('filename', '')
        if not mesh:
            raise ValueError('its mesh has no filename')
    else:
        raise ValueError(f'its geometry is {quote(geometry.tag)}')
    if not mesh and not (size > 0.0).all():
        raise ValueError(f'its {geometry.tag} has the size {size.tolist()}')
    return Visual(link, Shape(geometry.tag), T_link_visual, size, mesh)


def _numbers(element: etree._Element, name: str, default: str = '', n: int = 3) -> np.ndarray:
    text = element.get(name, default)
    try:
        array = np.array(text.split(), dtype=float)
    except ValueError:
        array = np.empty(0)
    if array.shape != (n,) or not (np.abs(array) <= ABSURD).all():
        raise ValueError(f'{name} of its <{element.tag}> is {quote(text)}')
    return array
