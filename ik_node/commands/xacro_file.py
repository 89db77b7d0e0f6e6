# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Expand a .xacro file without a ROS installation, by the package xacro from PyPI."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import re

from ik_node.command_line.packages import how_to_install
from ik_node.errors import UrdfError
from ik_node.text import printable, quote

PACKAGE_NAME = re.compile(r'<name>\s*([^<\s]+)\s*</name>')


def expand_xacro(path: Path, folder: Path, arguments: Mapping[str, str]) -> Path:
    """
    Expand a .xacro file into a .urdf file.

    ``$(find PACKAGE)`` is answered by the ament index. The package that has the file, and the
    packages beside it, need not be installed: they are added to AMENT_PREFIX_PATH of this
    process and those that it starts, so that their meshes are found, too.

    Parameters
    ----------
    path : Path
        The .xacro file.
    folder : Path
        Where to write the .urdf file, and an ament index of the packages.
    arguments : mapping
        Values of the arguments (``xacro:arg``) by name.

    Returns
    -------
    Path
        The .urdf file.

    Raises
    ------
    UrdfError
        If xacro is not installed, or cannot expand the file.

    """
    try:
        import xacro
    except ImportError:
        raise UrdfError(f'{quote(path, 300)} needs the package xacro, which is not installed '
                        f'here: {how_to_install("xacro")}') from None
    _add_packages(path.absolute(), folder / 'packages')
    try:
        text = xacro.process_file(str(path), mappings=dict(arguments)).toprettyxml(indent='  ')
    except Exception as error:  # noqa: BLE001 - the file is a program, which raises anything
        raise UrdfError(f'xacro cannot expand {quote(path, 300)}: '
                        f'{printable(str(error) or repr(error), 500)}') from None
    urdf = folder / f'{path.name.partition(".")[0]}.urdf'
    urdf.write_text(text, encoding='utf-8')
    return urdf


def _add_packages(path: Path, prefix: Path) -> None:
    """Make an ament index of the package that has a file, and of its neighbours."""
    package = next((above for above in path.parents if (above / 'package.xml').is_file()), None)
    if package is None:
        return
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    for manifest in package.parent.glob('*/package.xml'):
        found = PACKAGE_NAME.search(manifest.read_text(encoding='utf-8', errors='replace'))
        if found and '/' not in found[1] and not (index / found[1]).exists():
            (index / found[1]).touch()
            (prefix / 'share' / found[1]).symlink_to(manifest.parent)
    known = os.environ.get('AMENT_PREFIX_PATH')
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(
        [str(prefix), *([known] if known else [])])
