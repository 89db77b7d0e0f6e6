# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Expand a .xacro file without a ROS installation, by the package xacro from PyPI."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import re
from tempfile import TemporaryDirectory

from ik_node.base.errors import UrdfError
from ik_node.base.system import how_to_install
from ik_node.base.text import printable, quote
from ik_node.model.description.elements import robot_elements, XacroError
from ik_node.model.description.file_paths import (
    DESCRIPTIONS_VARIABLE,
    name_of,
    named_folders,
    packages_in,
)


def expand_xacro(path: Path, folder: Path, arguments: Mapping[str, str]) -> Path:
    """
    Expand a .xacro file into a .urdf file.

    ``$(find PACKAGE)`` is answered by the ament index. The package that has the file, those
    beside it and those in IK_NODE_DESCRIPTIONS need not be installed: they are added to
    AMENT_PREFIX_PATH of this process and those that it starts, so that their meshes are found,
    too.

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


def urdf_text(path: Path, arguments: Mapping[str, str]) -> str:
    """
    Return the URDF text of a file, which is expanded if what it has is xacro.

    Raises
    ------
    UrdfError
        If it cannot be read, or as for :func:`xacro_text`.

    """
    try:
        data = path.read_bytes()
        return xacro_text(path, arguments) if is_xacro(data) else data.decode('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise UrdfError(f'cannot read the URDF file {quote(path, 300)}: {error}') from None


def is_xacro(data: bytes) -> bool:
    """Return whether a text has to be expanded by xacro to become a URDF."""
    try:
        robot_elements(data)
    except XacroError:
        return True
    except UrdfError:
        pass
    return False


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
                        f'{printable(_cause(error), 500)}') from None


def _cause(error: BaseException) -> str:
    """Return why xacro gave up, and at which expression."""
    what = where = ''
    while isinstance(inner := getattr(error, 'exc', None), BaseException):  # as XacroException
        where = getattr(error, 'suffix', None) or where
        what = error.args[0] or what
        error = inner
    if what == 'Undefined substitution argument':
        return f'it needs a value of the argument {quote(error)}, as in {error}:=VALUE'
    package = re.match("package '([^']+)' not found", str(error.args[0]) if error.args else '')
    if package:
        return (f'the package {quote(package[1])}, in which $(find ...) looks, is not found: '
                'source the workspace that has it, or name the folder that has it in '
                f'{DESCRIPTIONS_VARIABLE}')
    return (str(error) or repr(error)) + where.replace('\n', ' ')


def _add_packages(path: Path, prefix: Path) -> list[Path]:
    """
    Add packages in which xacro may look to AMENT_PREFIX_PATH of this process.

    They are the one that has the file, those beside it, and those in IK_NODE_DESCRIPTIONS.

    Parameters
    ----------
    path : Path
        Absolute path of a file.
    prefix : Path
        Folder for an ament index, not used before.

    Returns
    -------
    list of Path
        The share folders in it, which are links.

    """
    own = next((above for above in path.parents if (above / 'package.xml').is_file()), None)
    beside = [] if own is None else [found.parent for found in own.parent.glob('*/package.xml')]
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    shares = []
    for folder in (*beside, *packages_in(named_folders())):
        name = name_of(folder)
        if name and '/' not in name and not (index / name).exists():
            (index / name).touch()
            shares.append(prefix / 'share' / name)
            shares[-1].symlink_to(folder.absolute())
    known = os.environ.get('AMENT_PREFIX_PATH')
    os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join(
        [str(prefix), *([known] if known else [])])
    return shares
