# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What interfaces.yaml says of messages agrees with the packages themselves, where they are."""

from importlib.util import find_spec
import os
from pathlib import Path

import pytest

if find_spec('rosidl_adapter') is None:
    pytest.skip('rosidl_adapter is missing: it comes with rclpy', allow_module_level=True)

from scripts.build_messages import messages_of, needed_interfaces, write_definitions

PACKAGES = sorted({name.split('/')[0] for name in needed_interfaces()})
VARIABLE = 'IK_NODE_MESSAGE_DEFINITIONS'  # a folder with ROS packages, /opt/ros/jazzy/share


@pytest.mark.parametrize('package', PACKAGES)
def test_members_and_constants(package, tmp_path):
    """Their types, names, order and values."""
    theirs = Path(os.environ.get(VARIABLE, ''))
    if not os.environ.get(VARIABLE) or not (theirs / package).is_dir():
        pytest.skip(f'name a folder with {package} by {VARIABLE}')
    write_definitions(tmp_path)
    for name in needed_interfaces():
        _, kind, stem = name.split('/')
        file = f'{name}.{kind}'
        if name.startswith(f'{package}/'):
            for ours, known in zip(messages_of(package, tmp_path / file),
                                   messages_of(package, theirs / file), strict=True):
                assert ours.fields == known.fields and ours.constants == known.constants, stem
