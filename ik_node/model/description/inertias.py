# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Masses and inertias of the links of a URDF."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from ik_node.base.errors import UrdfError
from ik_node.base.text import quote
from ik_node.model.description.elements import local_name, numbers_of, placement, robot_elements
from ik_node.model.description.urdf import Tree

INERTIA_KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
INERTIA_ROUNDING = 1e-6  # share of the largest moment, by which one may be negative


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass and inertia of a rigid body in a frame."""

    mass: float
    """kg."""
    centre: np.ndarray
    """(3,), centre of mass, m."""
    moments: np.ndarray
    """(3, 3), inertia tensor about the centre of mass, in the axes of the frame, kg m^2."""

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
    for link in robot_elements(tree.source)[0]:
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
    try:
        (mass,) = _numbers(children.get('mass'), ('value',))
        ixx, ixy, ixz, iyy, iyz, izz = _numbers(children.get('inertia'), INERTIA_KEYS)
        T = placement(children.get('origin'))
    except ValueError as error:
        raise UrdfError(f'{what} is not usable: {error}') from None
    moments = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    principal = np.linalg.eigvalsh(moments)
    if mass < 0.0 or principal[0] < -INERTIA_ROUNDING * max(principal[2], 0.0):
        raise UrdfError(f'{what} has the mass {mass:g} kg and the principal moments '
                        f'{principal.tolist()} kg m^2; none may be negative')
    return Inertia(mass, np.zeros(3), moments).moved(T)


def _numbers(element: ElementTree.Element | None, keys: tuple[str, ...]) -> list[float]:
    """Return the numbers of attributes; 0 where one is missing."""
    return [0.0 if element is None else numbers_of(element.get(key, '0'), 1, key)[0]
            for key in keys]
