# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Masses and inertias of the links of a URDF."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from ik_node.errors import UrdfError
from ik_node.model.urdf import local_name, read_elements, Tree
from ik_node.se3 import pose, rotation_from_rpy
from ik_node.text import quote

INERTIA_KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
INERTIA_ROUNDING = 1e-6  # share of the largest moment, by which one may be negative


@dataclass(frozen=True, eq=False)
class Inertia:
    """
    Mass and inertia of a rigid body in a frame.

    Attributes
    ----------
    mass : float
        kg.
    centre : (3,) array
        Centre of mass, m.
    moments : (3, 3) array
        Inertia tensor about the centre of mass, in the axes of the frame, kg m^2.

    """

    mass: float
    centre: np.ndarray
    moments: np.ndarray

    def moved(self, T: np.ndarray) -> Inertia:
        """Return it in a frame in which its own has the pose T (4, 4)."""
        R = T[:3, :3]
        return Inertia(self.mass, R @ self.centre + T[:3, 3], R @ self.moments @ R.T)

    def __add__(self, other: Inertia) -> Inertia:
        """Return that of both bodies together, in their common frame (Steiner)."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, self.centre, self.moments + other.moments)
        centre = (self.mass * self.centre + other.mass * other.centre) / mass
        moments = np.zeros((3, 3))
        for body in (self, other):
            d = body.centre - centre
            moments += body.moments + body.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, centre, moments)


def point_mass(mass: float, centre: np.ndarray) -> Inertia:
    """Return the inertia of a mass (kg) at a point (3,), m."""
    return Inertia(mass, np.array(centre, dtype=float), np.zeros((3, 3)))


def link_inertias(tree: Tree, complete: bool = False) -> dict[str, Inertia]:
    """
    Return the inertias of the links that have one, by link, in the frames of the links.

    Parameters
    ----------
    complete : bool
        Whether each must give its mass and all moments; else missing ones are 0.

    Raises
    ------
    UrdfError
        If one is not of numbers, or cannot be: a negative mass, or negative moments; or if it
        is not complete.

    """
    found = {}
    for link in read_elements(tree.source):
        if local_name(link) != 'link':
            continue
        for inertial in link:
            if local_name(inertial) == 'inertial':
                found[link.get('name')] = _inertia(inertial, link.get('name'), complete)
    return found


def _inertia(element: ElementTree.Element, link: str, complete: bool) -> Inertia:
    children = {local_name(child): child for child in element}
    what = f'the inertial element of the link {quote(link)}'
    for name, keys in (('mass', ('value',)), ('inertia', INERTIA_KEYS)):
        if complete and not (name in children and {*keys} <= {*children[name].keys()}):
            raise UrdfError(f'{what} needs <{name}> with {", ".join(keys)}')
    mass = _numbers(children.get('mass'), 'value', ('0',), what)[0]
    ixx, ixy, ixz, iyy, iyz, izz = (_numbers(children.get('inertia'), key, ('0',), what)[0]
                                    for key in INERTIA_KEYS)
    moments = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    principal = np.linalg.eigvalsh(moments)
    if mass < 0.0 or principal[0] < -INERTIA_ROUNDING * max(principal[2], 0.0):
        raise UrdfError(f'{what} has the mass {mass:g} kg and the principal moments '
                        f'{principal.tolist()} kg m^2; none may be negative')
    origin = children.get('origin')
    xyz = _numbers(origin, 'xyz', ('0',) * 3, what)
    rpy = _numbers(origin, 'rpy', ('0',) * 3, what)
    return Inertia(mass, np.zeros(3), moments).moved(pose(rotation_from_rpy(*rpy), xyz))


def _numbers(element: ElementTree.Element | None, key: str, default: tuple[str, ...],
             what: str) -> np.ndarray:
    """Return the numbers of an attribute, (k,); the default where it is missing."""
    text = ' '.join(default) if element is None else element.get(key, ' '.join(default))
    try:
        values = np.array(text.split(), dtype=float)
    except ValueError:
        values = np.empty(0)
    if len(values) != len(default) or not np.isfinite(values).all():
        raise UrdfError(f'{what} has {key}={quote(text)}; it needs {len(default)} finite '
                        f'number{"s" * (len(default) > 1)}')
    return values
