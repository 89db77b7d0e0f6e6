# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Presets of arms: YAML files that name what a user would have to look up.

.. code-block:: yaml

    robot:
      title: Universal Robots UR5e
      description:
        package: ur_description             # empty: the file is beside this one
        file: urdf/ur.urdf.xacro
        xacro_arguments: {ur_type: ur5e}
        apt: ur-description                 # without ros-jazzy-; empty: not in apt
        source: https://github.com/UniversalRobots/Universal_Robots_ROS2_Description
      base_link: base_link
      tip_link: tool0
      controller: scaled_joint_trajectory_controller
      namespace: ''                         # of the vendor's driver
      driver: ros2 launch ur_robot_driver ur_control.launch.py ur_type:=ur5e
      home: {shoulder_pan_joint: 0.0}       # rad or m, every joint of the chain
      parameters: {motion.velocity_scale: 0.2}

The presets of this package are in ``config/robots``; a file of one's own has the same form.
Those of robots with several arms are in ``config/arms``, with other fields in place of tip_link,
controller and namespace:

.. code-block:: yaml

      arms: {left: left_tool, right: right_tool}  # the tips, by the names of the arms
      controllers: {left_controller: [left_joint_1, left_joint_2]}  # all that move a tip

The robot description that a preset names.

Its package is searched for in folders that the caller names, then in those of the
environment variable IK_NODE_DESCRIPTIONS, then in the ament index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import os
from pathlib import Path
from typing import Any

import numpy as np

from ik_node.base.checks import is_plain_number
from ik_node.base.errors import ParameterError, UrdfError
from ik_node.base.system import share_file
from ik_node.base.text import quote, shown
from ik_node.model.chain import Chain
from ik_node.model.description.file_paths import (
    DESCRIPTIONS_VARIABLE,
    named_folders,
    package_in,
    read_limited,
)
from ik_node.model.description.xacro_file import urdf_text
from ik_node.model.user_files.plain_yaml import read_plain_yaml

PRESET_FOLDER, ARMS_FOLDER = 'config/robots', 'config/arms'
PRESET_SUFFIX = '.yaml'
MAX_PRESET_BYTES = 2**20
TEXT_FIELDS = ('title', 'base_link', 'driver')
ARM_FIELDS = ('tip_link', 'controller', 'namespace')
FILE_FIELDS = ('package', 'file', 'apt', 'source')
# The period of the vendor's controller, and a low speed to begin with.
REAL_ONLY = ('controller_period', 'motion.velocity_scale')


@dataclass(frozen=True)
class DescriptionSource:
    """Where the description of an arm is."""

    package: str  # package that has it; empty: it is beside the preset
    file: str  # the .urdf or .xacro file, relative to the package or to the preset
    xacro_arguments: dict[str, str]  # values of ``xacro:arg``
    apt: str  # name of the package in apt, without ``ros-DISTRIBUTION-``; empty if it is not there
    source: str  # address of the repository


@dataclass(frozen=True)
class RobotPreset:
    """What presets of one arm and of several arms have."""

    name: str   # name of the file without its suffix
    path: Path  # the file
    title: str  # maker and model
    description: DescriptionSource
    base_link: str              # first link of the arm or the arms; empty: found in the URDF
    driver: str                 # the command that starts the vendor's driver; empty: there is none
    home: dict[str, float]      # joint positions by name, rad or m
    parameters: dict[str, Any]  # parameters of the node by name: limits and speed

    def parameters_for(self, simulated: bool) -> dict[str, Any]:
        """Return the parameters of ik_node; a simulated arm has no need of REAL_ONLY."""
        return {name: value for name, value in self.parameters.items()
                if not (simulated and name in REAL_ONLY)}


@dataclass(frozen=True)
class Preset(RobotPreset):
    """A preset of an arm."""

    tip_link: str  # last link of the arm; empty: found in the URDF
    # Controller of the vendor's driver that takes trajectories; empty: there is none.
    controller: str
    namespace: str  # namespace in which the vendor's driver starts its nodes

    @property
    def controller_period(self) -> float:
        """
        Return the update period of the vendor's controller, s; 0 where it is not given.

        Raises
        ------
        ParameterError
            If it is no number from 0.

        """
        period = self.parameters.get('controller_period', 0.0)
        if not is_plain_number(period) or period < 0.0:
            raise ParameterError(f'{quote(self.path, 300)}: controller_period is '
                                 f'{shown(period, 80)}; give s, 0 or more')
        return float(period)

    def home_of(self, chain: Chain) -> list[float]:
        """
        Return the home posture in the order of a chain, (n,), rad or m; empty without one.

        Raises
        ------
        ParameterError
            If it lacks a joint of the chain, or a position is outside the limits.

        """
        if not self.home:
            return []
        lacking = [name for name in chain.joint_names if name not in self.home]
        if lacking:
            raise ParameterError(f'the home of {quote(self.path, 300)} has no position of '
                                 f'{shown(lacking, 200)}; give one for each joint of the arm')
        positions = np.array([self.home[name] for name in chain.joint_names])
        for name, q, lower, upper in zip(chain.joint_names, positions, chain.lower, chain.upper):
            if not lower <= q <= upper:
                raise ParameterError(
                    f'the home of {quote(self.path, 300)} has {q:g} for {quote(name)}; the URDF '
                    f'allows {lower:g} to {upper:g}')
        return positions.tolist()


@dataclass(frozen=True)
class ArmsPreset(RobotPreset):
    """A preset of a robot with several arms."""

    arms: dict[str, str]                     # the tips, by the names of the arms
    controllers: dict[str, tuple[str, ...]]  # the joints of each, those of all tips

    def node_parameters(self, simulated: bool) -> dict[str, dict[str, Any]]:
        """Return the parameters of ik_arms and of the node of each arm, by node, as in a file."""
        nodes = {'/**/ik_arms': {
            **self.parameters_for(simulated), 'base_link': self.base_link,
            'arms': [*self.arms], 'tip_links': [*self.arms.values()],
            'controllers': [*self.controllers],
            'controller_joints': [' '.join(joints) for joints in self.controllers.values()]}}
        for arm, joints in zip(self.arms, self.controllers.values()):
            nodes[f'/**/ik_arms/{arm}'] = {'solver.preferred_positions': self.home_at(joints)}
        return {node: {'ros__parameters': values} for node, values in nodes.items()}

    def home_at(self, joints: Sequence[str]) -> list[float]:
        """Return the home positions of joints, rad or m."""
        return [self.home[joint] for joint in joints]


def preset_names() -> list[str]:
    """Return the names of the presets of this package, sorted."""
    return _names_in(PRESET_FOLDER)


def arms_preset_names() -> list[str]:
    """Return the names of the presets of robots with several arms, sorted."""
    return _names_in(ARMS_FOLDER)


def _names_in(folder: str) -> list[str]:
    return sorted(path.stem for path in _path(folder).glob(f'*{PRESET_SUFFIX}'))


def _path(folder: str) -> Path:
    one = 'six_axis_arm' if folder == PRESET_FOLDER else 'baxter'
    return share_file(f'{folder}/{one}{PRESET_SUFFIX}').parent


def read_preset(name: str | Path) -> Preset:
    """
    Read a preset.

    Parameters
    ----------
    name : str or Path
        Name of a preset of this package, or the path of a YAML file.

    Raises
    ------
    ParameterError
        If there is no such preset, or the file cannot be used.

    """
    what, path, fields = _read(name, PRESET_FOLDER)
    return Preset(**_common(path, what, fields, ARM_FIELDS), **{
        field: _text(what, field, fields.get(field)) for field in ARM_FIELDS})


def read_arms_preset(name: str | Path) -> ArmsPreset:
    """
    Read a preset of a robot with several arms; arguments and errors as :func:`read_preset`.

    The first controllers are those of the arms, in their order; home has every joint.
    """
    what, path, fields = _read(name, ARMS_FOLDER)
    common = _common(path, what, fields, ('arms', 'controllers'))
    arms = {arm: _text(what, f'the tip of {arm}', tip)
            for arm, tip in _mapping(what, 'arms', fields.get('arms')).items()}
    controllers = {}
    for controller, joints in _mapping(what, 'controllers', fields.get('controllers')).items():
        if not isinstance(joints, list) or not all(joint in common['home'] for joint in joints):
            raise ParameterError(f'{what}: the controller {quote(controller)} has '
                                 f'{shown(joints, 80)}; give a list of joints that home has')
        controllers[controller] = tuple(joints)
    if not 2 <= len(arms) <= len(controllers):
        raise ParameterError(f'{what} has {len(arms)} arms and {len(controllers)} controllers; '
                             'it needs two arms at least, and a controller for each')
    return ArmsPreset(**common, arms=arms, controllers=controllers)


def _read(name: str | Path, folder: str) -> tuple[str, Path, dict[Any, Any]]:
    """Return what is read, for sentences, its path and its fields."""
    path = Path(os.path.expanduser(name))  # leaves ~UNKNOWN_USER as it is
    if path.suffix not in ('.yaml', '.yml'):
        if str(name) not in _names_in(folder):
            raise ParameterError(
                f'there is no preset {quote(name)}; there are {", ".join(_names_in(folder))}, or '
                'give the path of a YAML file of your own')
        path = _path(folder) / f'{name}{PRESET_SUFFIX}'
    what = f'the preset {quote(path, 300)}'
    data = read_limited(path, what, MAX_PRESET_BYTES)
    return what, path, read_plain_yaml(data, what, 'robot', 'fields to values')


def _common(path: Path, what: str, fields: dict[Any, Any],
            others: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a RobotPreset; there may be those others, too."""
    _only_known(what, fields, {*TEXT_FIELDS, *others, 'description', 'home', 'parameters'})
    source = _mapping(what, 'description', fields.get('description'))
    _only_known(f'description of {what}', source, {*FILE_FIELDS, 'xacro_arguments'})
    arguments = _mapping(what, 'xacro_arguments', source.get('xacro_arguments'))
    home = _mapping(what, 'home', fields.get('home'))
    for joint, position in home.items():
        if not is_plain_number(position):
            raise ParameterError(f'{what}: home has {shown(position, 80)} for {quote(joint)}; '
                                 'give a number, rad or m')
    parameters = _mapping(what, 'parameters', fields.get('parameters'))
    for name, value in parameters.items():
        items = value if isinstance(value, list) else [value]
        kinds = {'number' if is_plain_number(item) else type(item) for item in items}
        if len(kinds) > 1 or not kinds <= {'number', str, bool}:
            raise ParameterError(f'{what}: the parameter {quote(name)} is {shown(value, 80)}; '
                                 'give a number, a text, true or false, or a list of one of them')
    texts = {name: _text(what, name, fields.get(name)) for name in TEXT_FIELDS}
    files = {name: _text(what, name, source.get(name)) for name in FILE_FIELDS}
    if not files['file']:
        raise ParameterError(f'{what}: description has no file; name the .urdf or .xacro file')
    source_of = DescriptionSource(**files, xacro_arguments={
        name: _argument(what, name, value) for name, value in arguments.items()})
    return {'name': path.stem, 'path': path, 'description': source_of, 'parameters': parameters,
            'home': {name: float(position) for name, position in home.items()}, **texts}


def _argument(what: str, name: str, value: object) -> str:
    """Return a value as xacro is given it on the command line."""
    if not isinstance(value, (str, bool)) and not is_plain_number(value):
        raise ParameterError(f'{what}: the xacro argument {quote(name)} is {shown(value, 80)}; '
                             'give a number, a text, true or false')
    return str(value).lower() if isinstance(value, bool) else str(value)


def _only_known(what: str, fields: dict[Any, Any], known: set[str]) -> None:
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ParameterError(f'{what} has {shown(unknown[0], 80)}, which is none of its fields: '
                             f'{", ".join(sorted(known))}')


def _mapping(what: str, name: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f'{what}: {name} is {shown(value, 80)}; it must map names to values')
    return value


def _text(what: str, name: str, value: object) -> str:
    if value is None:
        return ''
    if not isinstance(value, str):
        raise ParameterError(f'{what}: {name} is {shown(value, 80)}; give a text, in quotes')
    return value


def description_file(preset: RobotPreset, folders: Sequence[str | Path] = ()) -> Path:
    """
    Return the .urdf or .xacro file of a preset.

    Parameters
    ----------
    preset : RobotPreset
    folders : sequence of paths
        Folders that have the package of the description; they are searched first.

    Raises
    ------
    UrdfError
        If the package or its file is missing; the sentence says how to get it.

    """
    source = preset.description
    if not source.package:
        file = preset.path.parent / source.file
        if not file.is_file():
            raise UrdfError(f'the preset {quote(preset.path, 300)} names the file '
                            f'{quote(file, 300)}, which does not exist')
        return file
    package = _package(source.package, folders)
    if package is None:
        raise UrdfError(
            f'the description of {preset.name} is in the package {quote(source.package)}, which '
            f'is not installed here: {_how_to_get(preset)}')
    file = package / source.file
    if not file.is_file():
        raise UrdfError(
            f'the preset {preset.name} needs {quote(source.file)} of the package '
            f'{quote(source.package)}, which is not in {quote(package, 300)}; another version of '
            f'it is installed: {_how_to_get(preset)}')
    return file


def description_text(preset: RobotPreset, folders: Sequence[str | Path] = ()) -> str:
    """
    Return the URDF text of a preset; a .xacro file is expanded.

    Parameters
    ----------
    preset, folders
        As for :func:`description_file`.

    Raises
    ------
    UrdfError
        If the file is missing, or xacro is or cannot expand it.

    """
    return urdf_text(description_file(preset, folders), preset.description.xacro_arguments)


def _how_to_get(preset: RobotPreset) -> str:
    source = preset.description
    ways = []
    if source.apt:
        distribution = os.environ.get('ROS_DISTRO', 'jazzy')
        ways.append(f'sudo apt install ros-{distribution}-{source.apt}')
    checkout = f'clone {source.source}' if source.source else 'get it'
    ways.append(f'{checkout}, then build and source it, or name the folder in '
                f'{DESCRIPTIONS_VARIABLE}')
    return '; or '.join(ways)


def _package(name: str, folders: Sequence[str | Path]) -> Path | None:
    """Return the folder of a package, None if it is not found."""
    found = package_in([*(Path(folder).expanduser() for folder in folders), *named_folders()],
                       name)
    if found is not None:
        return found
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        share = Path(prefix) / 'share'
        if prefix and (share / 'ament_index/resource_index/packages' / name).is_file():
            return share / name
    return None
