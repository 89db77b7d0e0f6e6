# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The problems of MotionBenchMaker, as VAMP's repository holds them.

Chamzas et al. 2022, "MotionBenchMaker: a tool to generate and benchmark motion planning
datasets".  The folder has ``ROBOT.urdf``, ``ROBOT.srdf``, ``meshes/`` and, unpacked from
``problems.tar.bz2``, ``problems/SET_ROBOT/scene0001.yaml`` and ``request0001.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import re

import numpy as np
from transforms3d.quaternions import quat2mat
import yaml

from ik_node.collision.bodies.links import arm_bodies
from ik_node.collision.distances.model import CollisionModel
from ik_node.collision.scene.scene import Scene
from ik_node.collision.scene.srdf import read_srdf
from ik_node.model.chain import Chain, make_chain
from ik_node.model.description.urdf import parse_urdf, Tree

LINKS = {'fetch': ('base_link', 'gripper_link'), 'panda': ('panda_link0', 'panda_hand'),
         'ur5': ('offset_link', 'tool0')}
ROUNDED_LIMIT = 1e-5  # rad or m
SETS = ('bookshelf_small', 'bookshelf_tall', 'bookshelf_thin', 'box', 'cage', 'table_pick',
        'table_under_pick')


@dataclass(frozen=True, eq=False)
class Problem:
    """A start, a goal (n,) and a scene."""

    name: str
    q_start: np.ndarray
    q_goal: np.ndarray
    scene: Scene


class ProblemRobot:
    """An arm of MotionBenchMaker, and its problems."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder
        text = (folder / f'{self.name}.urdf').read_text()
        # A fixed joint cannot follow another one.
        self.urdf = re.sub(r'<mimic [^>]*"panda_finger_joint1"[^>]*>\s*(</mimic>)?', '', text)
        self.tree: Tree = parse_urdf(self.urdf)
        self.chain: Chain = make_chain(self.tree, *LINKS[self.name])
        self.bodies = arm_bodies(self.tree, self.resolve, strict=True)
        self.disabled = read_srdf(folder / f'{self.name}.srdf', self.tree.links).reasons
        self.model = CollisionModel(self.chain, self.tree, self.bodies.bodies,
                                    disabled_pairs=self.disabled)

    def resolve(self, uri: str) -> tuple[Path | None, str]:
        """Return the file of a mesh."""
        path = self.folder / uri.removeprefix('package://')
        return (path, '') if path.is_file() else (None, f'{uri} is missing')

    def problems(self, sets: tuple[str, ...] = SETS, count: int = 100) -> Iterator[Problem]:
        """Return the first problems of each set."""
        for each in sets:
            folder = self.folder / 'problems' / f'{each}_{self.name}'
            for path in sorted(folder.glob('request*.yaml'))[:count]:
                request = read_yaml(path)
                number = path.stem.removeprefix('request')
                state = request['start_state']['joint_state']
                start = dict(zip(state['name'], state['position']))
                goal = {each['joint_name']: each['position']
                        for each in request['goal_constraints'][0]['joint_constraints']}
                yield Problem(
                    f'{each} {number}',
                    *(self._inside(np.array([values[name] for name in self.chain.joint_names],
                                            dtype=float)) for values in (start, goal)),
                    self._scene(read_yaml(folder / f'scene{number}.yaml')))

    def _inside(self, q: np.ndarray) -> np.ndarray:
        """Return joint positions (n,), of which some were at limits with more digits, inside."""
        inside = np.clip(q, self.chain.lower, self.chain.upper)
        return np.where(np.abs(inside - q) < ROUNDED_LIMIT, inside, q)

    def _scene(self, text: dict) -> Scene:
        scene = Scene(self.chain.base_link, self.tree.links)
        for item in text['world']['collision_objects']:
            T = transform(item.get('pose'))
            for k, (shape, at) in enumerate(zip(item['primitives'], item['primitive_poses'])):
                name, size, T_shape = f'{item["id"]}/{k}', shape['dimensions'], T @ transform(at)
                if shape['type'] == 'box':
                    scene.add_box(name, tuple(size), T_shape)
                elif shape['type'] == 'cylinder':
                    scene.add_cylinder(name, (size[1], size[0]), T_shape)
                else:
                    scene.add_sphere(name, size[0], T_shape)
        return scene


def read_yaml(path: Path) -> dict:
    """Return what a YAML file says."""
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def transform(text: dict | None) -> np.ndarray:
    """Return a pose (4, 4) from its position and its quaternion x, y, z, w."""
    T = np.eye(4)
    if text:
        x, y, z, w = text['orientation']
        T[:3, :3], T[:3, 3] = quat2mat([w, x, y, z]), text['position']
    return T
