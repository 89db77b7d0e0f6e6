# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Expand a .xacro file without a ROS installation, by the package xacro from PyPI."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from ik_node.command_line.packages import how_to_install
from ik_node.errors import UrdfError
from ik_node.model.description_folders import name_of
from ik_node.text import printable, quote


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
    _add_packages(path.absolute(), folder / 'packages')
    text = _expanded(path, arguments)
    urdf = folder / f'{path.name.partition(".")[0]}.urdf'
    urdf.write_text(text, encoding='utf-8')
    return urdf


def xacro_text(path: Path, arguments: Mapping[str, str]) -> str:
    """
    Return the URDF text of a .xacro file, and leave the environment as it was.

    Parameters
    ----------
    path : Path
        The .xacro file.
    arguments : mapping
        Values of the arguments (``xacro:arg``) by name.

    Raises
    ------
    UrdfError
        If xacro is not installed, or cannot expand the file.

    """
    known = os.environ.get('AMENT_PREFIX_PATH')
    with TemporaryDirectory(prefix='ik_node_') as folder:
        shares = _add_packages(path.absolute(), Path(folder))
        try:
            text = _expanded(path, arguments)
            for link in shares:  # files that $(find PACKAGE) has named
                text = text.replace(f'{link}/', f'{link.resolve()}/')
            return text
        finally:
            os.environ.pop('AMENT_PREFIX_PATH', None)
            if known is not None:
                os.environ['AMENT_PREFIX_PATH'] = known


def _expanded(path: Path, arguments: Mapping[str, str]) -> str:
    try:
        import xacro
    except ImportError:
        raise UrdfError(f'{quote(path, 300)} needs the package xacro, which is not installed '
                        f'here: {how_to_install("xacro")}') from None
    try:
        return xacro.process_file(str(path), mappings=dict(arguments)).toprettyxml(indent='  ')
    except Exception as error:  # noqa: BLE001 - the file is a program, which raises anything
        raise UrdfError(f'xacro cannot expand {quote(path, 300)}: '
                        f'{printable(str(error) or repr(error), 500)}') from None


def _add_packages(path: Path, prefix: Path) -> list[Path]:
    """
    Add the package that has a file, and its neighbours, to AMENT_PREFIX_PATH of this process.

    Parameters
    ----------
    path : Path
        Absolute path of a file; nothing is added if it is in no package.
    prefix : Path
        Folder for an ament index, not used before.

    Returns
    -------
    list of Path
        The share folders in it, which are links.

    """
    package = next((above for above in path.parents if (above / 'package.xml').is_file()), None)
    if package is None:
        return []
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    shares = []
    for manifest in package.parent.glob('*/package.xml'):
        name = name_of(manifest.parent)
        if name and '/' not in name and not (index / name).exists():
            (index / name).touch()
            shares.append(prefix / 'share' / name)
            shares[-1].symlink_to(manifest.parent)
    known = os.environ.get('AMENT_PREFIX_PATH')
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(
        [str(prefix), *([known] if known else [])])
    return shares
