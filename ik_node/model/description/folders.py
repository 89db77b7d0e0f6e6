# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Packages in folders that are no ROS installation: checkouts, which need not be built.

The environment variable IK_NODE_DESCRIPTIONS names such folders.  A folder may be the package,
have it inside, or have checkouts of repositories inside, in which it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import os
from pathlib import Path
import re

DESCRIPTIONS_VARIABLE = 'IK_NODE_DESCRIPTIONS'
PACKAGE_LEVELS = 4  # folders of a checkout in which a package.xml is looked for
PACKAGE_NAME = re.compile(r'<name>\s*([^<\s]+)\s*</name>')


def named_folders() -> list[Path]:
    """Return the folders that IK_NODE_DESCRIPTIONS names."""
    return [Path(path).expanduser()
            for path in os.environ.get(DESCRIPTIONS_VARIABLE, '').split(os.pathsep) if path]


def packages_in(folders: Sequence[Path]) -> list[Path]:
    """Return the folders of the packages in folders."""
    return [found for folder in folders for found in _packages(folder, PACKAGE_LEVELS)
            if (found / 'package.xml').is_file()]


def package_in(folders: Sequence[Path], name: str) -> Path | None:
    """Return the folder of a package, by its own name or its package.xml; None if not found."""
    for folder in folders:
        for found in _packages(folder, PACKAGE_LEVELS):
            if found.name == name or name_of(found) == name:
                return found
    return None


def name_of(folder: Path) -> str | None:
    """Return the name that the package.xml in a folder gives; None without one."""
    try:
        found = PACKAGE_NAME.search(
            (folder / 'package.xml').read_text(encoding='utf-8', errors='replace'))
    except OSError:
        return None
    return found[1] if found else None


def _packages(folder: Path, levels: int) -> Iterator[Path]:
    """Yield a folder and those inside it, but none inside a package."""
    yield folder
    try:
        inner = sorted(each for each in folder.iterdir()
                       if each.is_dir() and not each.name.startswith('.')) \
            if levels and not (folder / 'package.xml').is_file() and folder.is_dir() else []
    except OSError:  # it may not be read
        return
    for inside in inner:
        yield from _packages(inside, levels - 1)
