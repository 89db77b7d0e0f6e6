# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Reduce a COLLADA file (.dae) to its shapes.

The reader leaves out a shape whose material it does not understand.  For the collision check
that would be a hole, so materials, textures, lights and lines are removed before it reads.
"""

from __future__ import annotations

from xml.etree import ElementTree

SHAPE_LIBRARIES = frozenset({'asset', 'library_geometries', 'library_nodes',
                             'library_visual_scenes', 'scene'})
SHAPELESS_ELEMENTS = frozenset({'bind_material', 'extra', 'instance_camera', 'instance_light',
                                'lines', 'linestrips'})


def only_shapes(data: bytes) -> bytes:
    """Return a COLLADA document that has only what makes its shapes."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise ValueError(f'not a COLLADA document: {error}') from None
    for library in list(root):
        if _name(library) not in SHAPE_LIBRARIES:
            root.remove(library)
    for element in list(root.iter()):
        if _name(element) == 'instance_controller':
            raise ValueError('it has a skin (instance_controller), which is not read; '
                             'save it as .stl')
        for child in list(element):
            if _name(child) in SHAPELESS_ELEMENTS:
                element.remove(child)
    return ElementTree.tostring(root)


def _name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return str(element.tag).rpartition('}')[2]
