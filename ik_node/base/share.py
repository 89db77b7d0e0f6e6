# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Find the data files of this package."""

from __future__ import annotations

from pathlib import Path
import sys


def share_file(name: str) -> Path:
    """
    Return the path of a data file, e.g. ``urdf/six_axis_arm.urdf``.

    Searched in the ROS installation, the source tree, and where pip installs the package: in an
    environment, for one user, or into a folder.

    Raises
    ------
    FileNotFoundError
        If none of them has the file.

    """
    root = Path(__file__).parents[2]
    # The environment is above lib/pythonX.Y/site-packages.
    places = [root, *(folder / 'share/ik_node' for folder in (
        root, *root.parents[2:3], Path(sys.prefix)))]
    try:
        from ament_index_python.packages import get_package_share_directory
        places.insert(0, Path(get_package_share_directory('ik_node')))
    except (ImportError, LookupError, OSError):  # no ROS, not installed, not sourced
        pass
    for place in places:
        if (place / name).is_file():
            return place / name
    raise FileNotFoundError(f'{name} is in none of {", ".join(map(str, places))}')
