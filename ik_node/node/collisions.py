# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The collision model of a robot description."""

from __future__ import annotations

from pathlib import Path

from ik_node.collision.bodies import arm_bodies
from ik_node.collision.model import CollisionModel
from ik_node.collision.scene_file import read_scene
from ik_node.model.chain import Chain
from ik_node.model.urdf import Tree
from ik_node.node.settings import StartOptions
from ik_node.text import quote


def load_collisions(tree: Tree, chain: Chain, options: StartOptions,
                    logger: object) -> CollisionModel | None:
    """
    Return the collision model of an arm and of the scene file; None if it is not asked for.

    Raises
    ------
    ParameterError
        If the scene file cannot be used.

    """
    if not options.collision_check:
        return None
    bodies = arm_bodies(tree, padding=options.collision_padding)
    for warning in bodies.warnings:
        logger.warning(warning)
    model = CollisionModel(chain, tree, bodies.bodies)
    for pair in model.report:
        if pair.reason.startswith('in contact'):
            logger.warning(f'{quote(pair.links[0])} and {quote(pair.links[1])} are not checked '
                           f'against each other: {pair.reason}')
    if options.scene_file:
        scene = read_scene(Path(options.scene_file), chain.base_link, tree.links)
        model = model.with_objects(scene.bodies, touch_links=scene.snapshot.touch_links)
    # Compiled here, before the first goal.
    model.check_many(chain.middle[None])
    return model
