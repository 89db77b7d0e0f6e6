# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a robot that can be drawn, with primitives for missing meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ik_node.base.se3 import pose, rotation_to_axis
from ik_node.base.text import quote
from ik_node.model.description.shapes import link_shapes, PRIMITIVE_KINDS, Shape
from ik_node.model.description.urdf import Tree

STAND_IN_COLOUR = (0.6, 0.6, 0.62, 1.0)
STAND_IN_RADIUS = 0.12   # times the distance between the joints of the link
MIN_LENGTH_M = 1e-3      # shorter links are not drawn
DEFAULT_LENGTH_M = 0.1   # of a link, in a robot whose joints are all at one point


@dataclass(frozen=True, eq=False)
class Drawable:
    """The shapes of a robot, all of which can be drawn."""

    # By link; a mesh that is missing has been replaced by primitives.
    shapes: dict[str, list[Shape]]
    warnings: tuple[str, ...]  # a sentence for each missing mesh and each invalid visual


def drawable(tree: Tree, resolve: Callable[[str], tuple[Path | None, str]]) -> Drawable:
    """
    Return the shapes of a robot that can be drawn.

    Parameters
    ----------
    resolve : callable
        Finds the file of a mesh, as :func:`ik_node.model.description.mesh_files.resolve` does.

    """
    collisions = link_shapes(tree, 'collision')
    found: dict[str, tuple[Path | None, str]] = {}
    warnings: dict[str, None] = {}
    shapes: dict[str, list[Shape]] = {}
    for link, visuals in link_shapes(tree, 'visual').items():
        shapes[link] = []
        for shape in visuals:
            fault = f'a visual of link {quote(link)} is not drawn: {shape.fault}' \
                if shape.fault else ''
            if shape.uri:
                if shape.uri not in found:
                    found[shape.uri] = resolve(shape.uri)
                fault = found[shape.uri][1]
            if fault:
                warnings[fault] = None
            else:
                shapes[link] += shape.primitives
        if len(shapes[link]) < len(visuals):
            shapes[link] += stand_ins(tree, link, collisions[link])
    return Drawable(shapes, tuple(warnings))


def stand_ins(tree: Tree, link: str, collisions: list[Shape]) -> list[Shape]:
    """
    Return primitives for a link whose mesh is missing.

    They are the primitives of its collision geometry; if it has none, a cylinder from the
    frame of the link to each child joint, and a ball at the frame.
    """
    primitives = [replace(part, rgba=STAND_IN_COLOUR) for shape in collisions
                  if shape.kind in PRIMITIVE_KINDS for part in shape.primitives]
    if primitives:
        return primitives
    ends = [joint.T_parent_joint[:3, 3] for joint in tree.joints_below(link)]
    ends = [end for end in ends if np.linalg.norm(end) > MIN_LENGTH_M]
    longest = max(map(np.linalg.norm, ends), default=_typical_length(tree))
    radius = STAND_IN_RADIUS * float(longest)
    return [Shape('sphere', (1.2 * radius,), rgba=STAND_IN_COLOUR),
            *(_rod(end, radius) for end in ends)]


def _rod(end: np.ndarray, radius: float) -> Shape:
    """Return the cylinder from the origin of a frame to a point in it."""
    length = float(np.linalg.norm(end))
    return Shape('cylinder', (radius, length), pose(rotation_to_axis(end / length), end / 2.0),
                 rgba=STAND_IN_COLOUR)


def _typical_length(tree: Tree) -> float:
    """Return the median distance between joints, m."""
    lengths = [np.linalg.norm(joint.T_parent_joint[:3, 3]) for joint in tree.joints]
    return float(np.median([length for length in lengths if length > MIN_LENGTH_M]
                           or [DEFAULT_LENGTH_M]))
