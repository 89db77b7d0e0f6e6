# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Collision check: bodies of links and objects, without ROS.

    bodies/     Links and objects as convex parts
    distances/  Distances of postures, and proofs of what lies between them
    meshes/     From the triangles of a mesh to few convex parts
    scene/      Objects around the arm, and the files that say which pairs may touch
    search/     Ways around obstacles

>>> from ik_node.collision import CollisionModel, Scene
>>> scene = Scene(arm.base_link, arm.tree.links)
>>> model = CollisionModel.of(arm, scene, margin=0.005)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and completion; at run time __getattr__ imports them
    from ik_node.collision.bodies.links import arm_bodies as arm_bodies, ArmBodies as ArmBodies
    from ik_node.collision.bodies.parts import Body as Body, ConvexPart as ConvexPart
    from ik_node.collision.distances.certificate import (
        certify as certify,
        certify_edge as certify_edge,
        Contact as Contact,
    )
    from ik_node.collision.distances.model import (
        CollisionModel as CollisionModel,
        PairReport as PairReport,
    )
    from ik_node.collision.scene.scene import (
        Scene as Scene,
        SceneObject as SceneObject,
        SceneSnapshot as SceneSnapshot,
    )
    from ik_node.collision.scene.scene_file import (
        read_scene as read_scene,
        scene_from_yaml as scene_from_yaml,
        scene_to_yaml as scene_to_yaml,
    )
    from ik_node.collision.scene.srdf import (
        DisabledPairs as DisabledPairs,
        GroupState as GroupState,
        read_group_states as read_group_states,
        read_srdf as read_srdf,
    )
    from ik_node.collision.scene.tool_file import (
        read_tools as read_tools,
        Tool as Tool,
        tools_from_yaml as tools_from_yaml,
    )
    from ik_node.collision.search.path_search import find_path as find_path

# Imported on first use, so that one part of the group does not load the others.
_COLLISION_MODULES = {
    'ArmBodies': 'bodies.links',
    'Body': 'bodies.parts',
    'CollisionModel': 'distances.model',
    'Contact': 'distances.certificate',
    'ConvexPart': 'bodies.parts',
    'DisabledPairs': 'scene.srdf',
    'GroupState': 'scene.srdf',
    'PairReport': 'distances.model',
    'Scene': 'scene.scene',
    'SceneObject': 'scene.scene',
    'SceneSnapshot': 'scene.scene',
    'Tool': 'scene.tool_file',
    'arm_bodies': 'bodies.links',
    'certify': 'distances.certificate',
    'certify_edge': 'distances.certificate',
    'find_path': 'search.path_search',
    'read_group_states': 'scene.srdf',
    'read_scene': 'scene.scene_file',
    'read_srdf': 'scene.srdf',
    'read_tools': 'scene.tool_file',
    'scene_from_yaml': 'scene.scene_file',
    'scene_to_yaml': 'scene.scene_file',
    'tools_from_yaml': 'scene.tool_file',
}
__all__ = list(_COLLISION_MODULES)


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use."""
    if name not in _COLLISION_MODULES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_COLLISION_MODULES[name]}'), name)


def __dir__() -> list[str]:
    """Return all names, including public names that are not imported yet."""
    return sorted({*globals(), *_COLLISION_MODULES})
