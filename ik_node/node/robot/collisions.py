# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""The collision model of a robot description."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ik_node.base.errors import ParameterError, UrdfError
from ik_node.base.text import quote
from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.certificate import certify_edge
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.scene_file import read_scene
from ik_node.collision.scene.srdf import read_srdf
from ik_node.kinematics.arguments import did_you_mean
from ik_node.kinematics.tree.kinematic_tree import KinematicTree
from ik_node.model.chain import Chain
from ik_node.model.description.mesh_files import mesh_search
from ik_node.model.description.urdf import Tree
from ik_node.model.joint_space import JointSpace
from ik_node.node.robot.settings import RobotOptions, Settings

GROUND_DEPTH_M = 0.01  # below it, of links that do not move, that is worth a warning


def load_scene(tree: Tree, chain: JointSpace, options: RobotOptions,
               tools: Iterable[str] = (), world_link: str | None = None) -> Scene:
    """
    Return the scene of the scene file; an empty one without.

    Parameters
    ----------
    world_link : str, optional
        That stands for no frame; default: the base link.
    tools : iterable of str
        Names of the tools, which no object may have.

    Raises
    ------
    ParameterError
        If the scene file cannot be used.

    """
    frame = world_link or chain.base_link
    return read_scene(Path(options.scene_file), frame, tree.links, options.mesh_paths, tools) \
        if options.scene_file else Scene(frame, tree.links, tools)


def load_collisions(tree: Tree, chain: Chain | KinematicTree, options: RobotOptions,
                    logger: object) -> CollisionModel | None:
    """
    Return the collision model of an arm without objects; None if it is not asked for.

    It says which links are not checked.

    Raises
    ------
    ParameterError
        If a padding cannot be used.
    UrdfError
        If the SRDF cannot be used, or a link cannot be checked and that is not allowed.

    """
    if not options.collision_check:
        return None
    paddings = _paddings(tree, options)
    bodies = arm_bodies(tree, mesh_search(tree, options.mesh_paths), paddings)
    if bodies.faults and options.collision_strict:
        raise UrdfError('; '.join(bodies.not_checked.values()) + '; collision.strict refuses that')
    disabled = read_srdf(Path(options.srdf_file), tree.links) if options.srdf_file else None
    model = CollisionModel(chain, tree, bodies,
                           disabled_pairs=disabled.reasons if disabled else ())
    if model.unchecked:
        logger.warning(str(model.unchecked))  # with why the first of them is not
    for warning in (*bodies.warnings[bool(bodies.faults):],
                    *(disabled.notes if disabled else ())):
        logger.warning(warning)
    for link in bodies.without_geometry:
        if paddings[link] != options.collision_padding:
            logger.warning(f'collision.link_padding names {quote(link)}, which has no geometry in '
                           'the URDF: that changes nothing')
    assumed_positions(tree, options.collision_other_joints)  # what is wrong is said at once
    for pair in model.report:
        if pair.reason.startswith('in contact'):
            logger.warning(f'{quote(pair.links[0])} and {quote(pair.links[1])} are not checked '
                           f'against each other: {pair.reason}')
    # Compiled here, before the first goal.
    q = chain.middle
    model.check_many(q[None])
    certify_edge(model, q, q)
    return model


def _paddings(tree: Tree, options: RobotOptions) -> dict[str, float]:
    """Return the padding (m) of each link."""
    return dict.fromkeys(tree.links, options.collision_padding) | _named_numbers(
        'collision.link_padding', options.collision_link_padding,
        "the name of a link and metres, such as 'hand=0.01'")


def assumed_positions(tree: Tree, texts: Iterable[str]) -> dict[str, float]:
    """
    Return where joints beside the arm are, as the parameter collision.other_joints says.

    Raises
    ------
    ParameterError
        If an entry is no ``joint=position``, or there is no such joint.

    """
    joints = {joint.name for joint in tree.joints if joint.moves}
    positions = _named_numbers('collision.other_joints', texts,
                               "the name of a joint and its position, such as 'lid=1.2'")
    for joint, position in positions.items():
        if joint not in joints or not np.isfinite(position):
            raise ParameterError(f'collision.other_joints has {quote(f"{joint}={position:g}")}; '
                                 'it takes finite positions of joints that move'
                                 + did_you_mean(joint, joints))
    return positions


def _named_numbers(parameter: str, texts: Iterable[str], what: str) -> dict[str, float]:
    """Return the numbers of a parameter whose entries are ``name=number``; it takes `what`."""
    found = {}
    for text in filter(None, texts):
        name, _, number = text.rpartition('=')
        try:
            found[name] = float(number)
        except ValueError:
            raise ParameterError(f'{parameter} has {quote(text)}; it takes {what}') from None
    return found


def ground_notes(settings: Settings) -> list[str]:
    """Return a warning if links that do not move are below the ground."""
    model, surroundings = settings.solver.collisions, settings.surroundings
    depth = surroundings.ground_height - (np.inf if model is None else model.lowest_fixed_point)
    if not surroundings.ground or depth < GROUND_DEPTH_M:
        return []
    return [f'links that do not move are {depth:.2f} m below the ground; if it is lower, set '
            f'collision.ground_height to {model.lowest_fixed_point:.2f}']
