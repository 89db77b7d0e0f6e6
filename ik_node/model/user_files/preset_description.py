# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
The robot description that a preset names.

Its package is searched for in folders that the caller names, then in those of the
environment variable IK_NODE_DESCRIPTIONS, then in the ament index.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path

from ik_node.base.errors import UrdfError
from ik_node.base.text import quote
from ik_node.model.description.folders import (
    DESCRIPTIONS_VARIABLE,
    named_folders,
    package_in,
)
from ik_node.model.description.xacro_file import urdf_text
from ik_node.model.user_files.presets import Preset


def description_file(preset: Preset, folders: Sequence[str | Path] = ()) -> Path:
    """
    Return the .urdf or .xacro file of a preset.

    Parameters
    ----------
    preset : Preset
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


def description_text(preset: Preset, folders: Sequence[str | Path] = ()) -> str:
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


def _how_to_get(preset: Preset) -> str:
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
