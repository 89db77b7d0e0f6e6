# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Adapts config/ik_node.rviz to a namespace, a frame prefix and a base link."""

from __future__ import annotations

import yaml

from ik_node.base.errors import ParameterError

MARKERS_SETTING = 'Interactive Markers Namespace'


def adapted(view: str, namespace: str, frame_prefix: str, base_link: str) -> str:
    """
    Return the text of a view whose topics are in a namespace and whose frames have a prefix.

    Parameters
    ----------
    view : str
        Text of an RViz configuration; its topics are absolute, without a namespace.
    namespace : str
        With or without slashes at its ends; empty for none.
    frame_prefix : str
        The prefix of robot_state_publisher for link names.
    base_link : str
        Becomes the fixed frame, with the prefix.

    """
    # RViz puts a slash between the prefix and the name of a link.
    if frame_prefix and not frame_prefix.endswith('/'):
        raise ParameterError(f'the frame prefix {frame_prefix!r} does not end with /, so RViz '
                             f"could not show the robot; take '{frame_prefix}/', or start without "
                             'RViz')
    root = f'/{namespace.strip("/")}'.rstrip('/')
    config = yaml.safe_load(view)
    manager = config['Visualization Manager']
    manager['Global Options']['Fixed Frame'] = frame_prefix + base_link
    for display in manager['Displays']:
        for name, value in display.items():
            if isinstance(value, dict) and 'Durability Policy' in value:
                value['Value'] = root + value['Value']
            elif name == MARKERS_SETTING:
                display[name] = root + value
            elif name == 'TF Prefix':
                display[name] = frame_prefix.removesuffix('/')
    return yaml.safe_dump(config, sort_keys=False)
